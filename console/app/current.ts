// The page that the address names; '' is the first one.
import { computed } from '@preact/signals';
import { place } from '../base/router.ts';
import { homePage } from './visible.ts';

export const currentPage = computed<string>(() =>
  place.value.page === '' ? homePage.value : place.value.page,
);
