// Making elements. Text reaches the page as text nodes only, so nothing that a model or a client
// wrote can become markup.

/** Makes an element: `make("p", { class: "note" }, "text", child)`. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A button that calls `act`. */
export function button(label, attributes, act) {
  const element = make("button", { type: "button", ...attributes }, label);
  element.addEventListener("click", act);
  return element;
}

/** The element with this id. */
export const byId = (id) => document.getElementById(id);

/** Sets an element's text if it isn't the same already, which spares a layout. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let silence = 0;
/** Says something in the page's notice, for a few seconds. */
export function notify(text) {
  const box = byId("notice");
  say(box, text);
  box.hidden = false;
  clearTimeout(silence);
  silence = setTimeout(() => { box.hidden = true; }, 8000);
}

/** A function that calls `act` once before the next frame, however often it is called. */
export function eachFrame(act) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      act();
    });
  };
}
