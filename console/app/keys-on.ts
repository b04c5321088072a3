// Whether keys of one letter are commands: who dictates, or leans on the keyboard, switches them off (WCAG 2.1.4).
import { stored } from '../base/stored.ts';

export const keysAreOn = stored('keys', ['on', 'off'], 'on');
