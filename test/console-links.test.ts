import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const SOURCES = new URL('../src/console/', import.meta.url)
const { ADDRESS_KEYS } = await import(new URL('lib/address-keys.js', SOURCES).href)

/** The places with parameters in the sources of the console: path parts and written parameters. */
function places() {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.js'),
  )
  return files.flatMap((file) => {
    const source = readFileSync(new URL(file, SOURCES), 'utf8')
    const found = source.matchAll(
      /(?<!invoke\()(?:'([\w-]+)'|\['([\w-]+)'((?:, [^[\]']+)*)\]), (\{[^{}]*\})/g,
    )
    return [...found].map(([text, alone, first = '', rest = '', query = '']) => ({
      text: `${file}: ${text}`,
      view: alone ?? first,
      rest: rest.split(', ').filter(Boolean),
      keys: keysOf(query),
    }))
  })
}

/** `{ ...query, outcome: 'failed', error }` has the keys `outcome` and `error`. */
function keysOf(query: string): string[] {
  return query
    .slice(1, -1)
    .split(',')
    .map((part) => part.trim().split(':')[0] ?? '')
    .filter((key) => /^\w+$/.test(key))
}

test('a link of the console has only parameters that its view knows', () => {
  const known: Record<string, readonly string[] | ((rest: string[]) => string[])> = ADDRESS_KEYS
  const checked = places().filter(({ view }) => Object.hasOwn(known, view))
  assert.ok(checked.length > 10, `${checked.length} links`)
  const unknown = checked.flatMap(({ text, view, rest, keys }) => {
    const given = known[view] ?? []
    const accepted = typeof given === 'function' ? given(rest) : given
    return keys.filter((key) => !accepted.includes(key)).map((key) => `${key} in ${text}`)
  })
  assert.deepEqual(unknown, [])
})
