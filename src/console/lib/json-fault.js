const STRING = String.raw`"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"`
const LITERAL = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)`
const SPACE = /[ \t\r\n]*/y
const TOKEN = new RegExp(String.raw`([{}[\],:])|(${STRING})|(${LITERAL})`, 'y')

/** What may come next, in words, by state. */
const EXPECTED = {
  value: 'a value',
  first: 'a value or ]',
  name: 'a name in double quotes',
  'first name': 'a name in double quotes or }',
  colon: 'a colon',
  '{': 'a comma or }',
  '[': 'a comma or ]',
  end: 'the end',
}

/**
 * The first place where a text is not JSON: `{ line, column, reason }`, counted from 1. Browsers do
 * not always name it. Undefined for valid JSON.
 */
export function jsonFault(text) {
  try {
    JSON.parse(text)
    return undefined
  } catch {
    const { at, expected } = scan(text)
    const before = text.slice(0, at).split('\n')
    return { line: before.length, column: before.at(-1).length + 1, reason: reasonAt(text, at, expected) }
  }
}

function reasonAt(text, at, expected) {
  const rest = text.slice(at)
  if (rest === '') return `expected ${expected}, but the text ends`
  if (rest.startsWith('"') && !new RegExp(`^${STRING}`).test(rest))
    return 'a string without an end, or with a character that needs a backslash'
  const [found] = /^(?:[\w.+-]{1,20}|"[^"\n]{0,20}"?|.)/su.exec(rest)
  return `expected ${expected}, found ${found}`
}

/** Reads tokens up to the first one that is not expected. */
function scan(text) {
  const open = []
  let state = 'value'
  let at = 0
  for (;;) {
    SPACE.lastIndex = at
    at += SPACE.exec(text)[0].length
    TOKEN.lastIndex = at
    const [token, sign, string] = TOKEN.exec(text) ?? []
    const next = token === undefined ? undefined : stateAfter(state, { sign, string }, open)
    if (next === undefined) return { at, expected: EXPECTED[state] }
    state = next
    at += token.length
  }
}

/** The state after a token; undefined if it is not allowed. Keeps the open brackets in `open`. */
function stateAfter(state, { sign, string }, open) {
  const after = () => open.at(-1) ?? 'end'
  const takesValue = state === 'value' || state === 'first'
  if (sign === undefined) {
    if (takesValue) return after()
    return string !== undefined && (state === 'name' || state === 'first name') ? 'colon' : undefined
  }
  if (takesValue && (sign === '{' || sign === '[')) {
    open.push(sign)
    return sign === '{' ? 'first name' : 'first'
  }
  if (state === 'colon') return sign === ':' ? 'value' : undefined
  if (sign === ',') return { '{': 'name', '[': 'value' }[state]
  const closes = { '{': '}', 'first name': '}', '[': ']', first: ']' }[state]
  if (sign !== closes) return undefined
  open.pop()
  return after()
}

/** Whether a text is meant as JSON: it begins like an object or a list. */
export function looksLikeJson(text) {
  return /^\s*[[{]/.test(text)
}

/** `jsonFault` of a text that is meant as JSON, except for one JSON value per line. */
export function bodyFault(text = '') {
  if (!looksLikeJson(text)) return undefined
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const isJsonLines = lines.length > 1 && lines.every((line) => jsonFault(line) === undefined)
  return isJsonLines ? undefined : jsonFault(text)
}

/** A fault in words: `line 3, column 1: expected a comma or }, found "b"`. */
export function faultText({ line, column, reason }) {
  return `line ${line}, column ${column}: ${reason}`
}
