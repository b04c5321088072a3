// The time of the page, once a second while it is seen: for clocks and ages.
import { signal } from '@preact/signals';

export const now = signal(Date.now());

setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 1000);
