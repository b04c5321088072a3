// All boards.
import type { Board } from '../board.ts';
import { CAPACITY } from './capacity.ts';
import { CHAIN } from './chain.ts';
import { RELIABILITY } from './reliability.ts';
import { SPEND_BOARD } from './spend.ts';

export const BOARDS: readonly Board[] = [CHAIN, SPEND_BOARD, RELIABILITY, CAPACITY];
