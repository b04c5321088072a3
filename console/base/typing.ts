// Whether a key is part of a text that somebody writes, and so no command.
export function isTyping(event: Event): boolean {
  const { target } = event;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
