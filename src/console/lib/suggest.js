/** Words of a search: without spaces, except in quotation marks. */
const WORD = /(?:[^\s"]|"(?:[^"\\]|\\.)*"?)+/g
/** Maximum number of suggestions. */
const MAX_OPTIONS = 12

/**
 * Suggestions for the word at the caret: the keys of `fields`, or the values of one. A field is `{
 * key, about, values() }`. Returns `{ options, hint }`: an option is `{ text, about, insert, start,
 * end }`, where `insert` replaces the text from `start` to `end`.
 */
export function suggestionsFor(text, caret, fields) {
  const word = wordAt(text, caret)
  const typed = text.slice(word.start, caret)
  const [, key, given] = /^([a-z-]*):(.*)$/i.exec(typed) ?? []
  const field = key && fields.find((each) => each.key === key.toLowerCase())
  if (field) return valuesOf(field, given, word)
  if (key) return NONE
  const begin = typed.replace(/^:/, '').toLowerCase()
  if (typed === '') return NONE
  const options = fields
    .filter(({ key }) => key.startsWith(begin))
    .map(({ key, about }) => ({ ...word, text: `${key}:`, about, insert: `${key}:` }))
  return { options }
}

const NONE = { options: [] }

/** Values that contain what is typed; of a list such as `dead,retrying`, after the last comma. */
function valuesOf({ key, about, values }, given, word) {
  const raw = given.replace(/^"/, '')
  const [, list = '', last = raw] = /^(.*,)([^,]*)$/.exec(raw) ?? []
  const wanted = last.toLowerCase()
  const known = [...new Set(values?.() ?? [])].filter((value) => value.toLowerCase().includes(wanted))
  // A complete value needs no suggestion.
  const options = known
    .filter((value) => known.length > 1 || value !== last)
    .slice(0, MAX_OPTIONS)
    .map((value) => ({ ...word, text: value, insert: `${key}:${quoted(list + value)} ` }))
  return { options, hint: options.length === 0 && given === '' ? about : undefined }
}

/** Where the word at the caret begins and ends. */
function wordAt(text, caret) {
  for (const { index, 0: word } of text.matchAll(WORD))
    if (index <= caret && caret <= index + word.length) return { start: index, end: index + word.length }
  return { start: caret, end: caret }
}

/** Whether the word at the end of a text is a key that still needs a value. */
export function isUnfinished(text) {
  return /(?:^|\s)[a-z-]*:$/i.test(text)
}

export function quoted(value) {
  return /[\s"]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value
}
