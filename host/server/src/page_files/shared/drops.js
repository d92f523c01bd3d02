// Files that are dragged onto the page.

/** Watches for files that are dragged onto the page; `take(files)` gets them. */
export function watchDrops(take) {
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  let depth = 0;
  const mark = (by) => {
    depth = Math.max(0, depth + by);
    document.body.classList.toggle("dropping", depth > 0);
  };
  document.addEventListener("dragenter", (event) => hasFiles(event) && mark(1));
  document.addEventListener("dragleave", (event) => hasFiles(event) && mark(-1));
  document.addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  document.addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    mark(-depth);
    await take([...event.dataTransfer.files]);
  });
}
