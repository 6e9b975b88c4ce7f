// Names that needed an explanation, and were replaced. They must not come back.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseSync, Visitor } from 'oxc-parser'

const root = fileURLToPath(new URL('..', import.meta.url))

/** The words, and what to write instead. */
const OLD: Record<string, string> = {
  told: 'published, notified',
  meant: 'intended',
  standing: 'status',
  heard: 'lastSeen',
  World: 'what it holds, such as AssistantContext',
  onion: 'middleware',
  KEPT: 'RETENTION_MS',
}

/**
 * Fields whose names cannot change: they are in the stored data of installations, or part of the
 * MCP protocol.
 */
const FIXED = [
  'src/features/notify/trouble-publisher.ts: told',
  'src/runtime/mcp/tool-list.ts: openWorldHint',
  'src/runtime/mcp/tool-store.ts: openWorldHint',
  'src/runtime/model/recorded-steps.ts: heard',
]

const scripts = globSync('{src,transports,skills}/**/*.{ts,js}', { cwd: root }).sort()

test('no identifier or CSS class contains an old name, except fixed ones', () => {
  const inScripts = scripts.flatMap((file) => oldAmong(identifiersOf(file), file))
  const inStyles = globSync('src/**/*.css', { cwd: root }).flatMap((file) => oldAmong(classesOf(file), file))
  const found = [...inScripts, ...inStyles].filter((place) => !FIXED.includes(place))
  const hints = Object.entries(OLD).map(([word, better]) => `${word} → ${better}`)
  assert.deepEqual(found, [], `rename: ${hints.join('; ')}`)
})

test('the list of fixed names has no entry that is not needed', () => {
  const files = new Set(FIXED.map((place) => place.split(': ')[0] ?? ''))
  const found = [...files].flatMap((file) => oldAmong(identifiersOf(file), file))
  assert.deepEqual(found.toSorted(), FIXED.toSorted())
})

/** The names with an old word in them, each once per file. */
function oldAmong(names: Iterable<string>, file: string): string[] {
  const old = [...new Set(names)].filter((name) => wordsOf(name).some((word) => Object.hasOwn(OLD, word)))
  return old.map((name) => `${file}: ${name}`)
}

/**
 * The words of `startWorld`, `isTold` or `KEPT_MS`, in the spelling of `OLD`: most in lower case.
 */
function wordsOf(name: string): string[] {
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  return words.flatMap((word) => [word, word.toLowerCase()])
}

function identifiersOf(file: string): Set<string> {
  const names = new Set<string>()
  const { program } = parseSync(file, readFileSync(root + file, 'utf8'))
  new Visitor({ Identifier: ({ name }) => void names.add(name) }).visit(program)
  return names
}

function classesOf(file: string): string[] {
  return [...readFileSync(root + file, 'utf8').matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name)
}
