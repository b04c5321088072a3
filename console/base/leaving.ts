// What asks before it is left, because it would lose what somebody typed: once, by the browser's Back too.

const asking = new Set<() => boolean>();

/** @param asks whether it stays, and now says why. @returns ends the asking */
export function beforeLeaving(asks: () => boolean): () => void {
  asking.add(asks);
  window.addEventListener('beforeunload', unload);
  return () => {
    asking.delete(asks);
    // A listener keeps the browser from putting the page aside whole.
    if (asking.size === 0) window.removeEventListener('beforeunload', unload);
  };
}

function unload(event: BeforeUnloadEvent): void {
  event.preventDefault();
}

/** Whether something stays, and has said so. */
export function isHeld(): boolean {
  return [...asking].some((asks) => asks());
}
