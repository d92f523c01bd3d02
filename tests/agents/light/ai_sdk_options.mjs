// Options of each streamText of these programs.
export const OPTIONS = {
  // Without it, items are sent as references to items that the server would have stored.
  providerOptions: { openai: { store: false } },
  maxRetries: 0,
  onError: ({ error }) => {
    throw error;
  },
};
