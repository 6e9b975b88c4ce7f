/** The sequences of keys that terminals send, without the Escape at their start. */
const NAMES: Readonly<Record<string, string>> = {
  '[A': 'up',
  '[B': 'down',
  OA: 'up',
  OB: 'down',
  '[5~': 'pageup',
  '[6~': 'pagedown',
  '[H': 'home',
  '[F': 'end',
  OH: 'home',
  OF: 'end',
  '[1~': 'home',
  '[4~': 'end',
  '[Z': 'backtab',
}
const SINGLE: Readonly<Record<string, string>> = {
  '\u001b': 'escape',
  '\u0003': 'ctrl-c',
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
}
/** A sequence of a key, or one character. */
const KEY = /\p{Cc}(?:\[[\d;]*[A-Za-z~]|O[A-Z])|[\s\S]/gu

/** The keys in a chunk that a terminal sent: `up`, `enter`, `escape`, `ctrl-c`, or a character. */
export function keysIn(chunk: string): string[] {
  return (chunk.match(KEY) ?? []).map((key) => NAMES[key.slice(1)] ?? SINGLE[key] ?? key)
}
