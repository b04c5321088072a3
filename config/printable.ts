// Text of others on one line of a terminal: control characters would move the cursor or forge a line. Pure.

export const printable = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '\ufffd');
