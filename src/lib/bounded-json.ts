/**
 * The beginning of a value as JSON: up to `most` characters, then `…`. Reads little more of the value
 * than that, so it is cheap for large values, and cyclic ones do no harm. Undefined for values that
 * JSON does not have, such as functions.
 */
export function boundedJson(value: unknown, most: number): string | undefined {
  if (!isWritable(value)) return undefined
  let text = ''
  for (const part of partsOf(value, most)) {
    text += part
    if (text.length > most) return `${text.slice(0, most)}…`
  }
  return text
}

function* partsOf(value: unknown, most: number): Generator<string> {
  const plain = value instanceof Date ? value.toJSON() : value
  if (typeof plain === 'string') yield JSON.stringify(plain.slice(0, most + 1))
  else if (ArrayBuffer.isView(plain)) yield JSON.stringify(`${plain.byteLength} bytes`)
  else if (Array.isArray(plain)) yield* itemsOf(plain, most)
  else if (typeof plain === 'object' && plain !== null) yield* fieldsOf(plain, most)
  else yield typeof plain === 'bigint' ? `"${plain}"` : JSON.stringify(plain)
}

function* itemsOf(items: readonly unknown[], most: number): Generator<string> {
  yield '['
  for (const [index, item] of items.entries()) {
    if (index > 0) yield ','
    yield* partsOf(isWritable(item) ? item : null, most)
  }
  yield ']'
}

function* fieldsOf(fields: object, most: number): Generator<string> {
  yield '{'
  let isFirst = true
  for (const [name, field] of Object.entries(fields)) {
    if (!isWritable(field)) continue
    yield `${isFirst ? '' : ','}${JSON.stringify(name)}:`
    yield* partsOf(field, most)
    isFirst = false
  }
  yield '}'
}

/** JSON leaves out the others. */
function isWritable(value: unknown): boolean {
  return value !== undefined && typeof value !== 'function' && typeof value !== 'symbol'
}
