/** The longest delay (ms) that a Node timer keeps: 24.8 days. Longer ones fire immediately. */
export const LONGEST_TIMER = 2 ** 31 - 1
