import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { type Argument, type Expression, parseSync, Visitor } from 'oxc-parser'

const SOURCES = new URL('../src/console/', import.meta.url)
const { ADDRESS_KEYS } = await import(new URL('lib/address-keys.js', SOURCES).href)

/** A place with parameters in the sources of the console: path parts and written parameters. */
type Place = { text: string; view: string; rest: string[]; keys: string[] }

const sources = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.js'))
  .map((file) => ({ file, source: readFileSync(new URL(file, SOURCES), 'utf8') }))

/** Constants that are parts of paths, such as `WAITING`. */
const constants = new Map(
  sources.flatMap(({ source }) =>
    [...source.matchAll(/^export const ([A-Z_]+) = '([\w-]+)'/gm)].map(([, name = '', text = '']) => [
      name,
      text,
    ]),
  ),
)

/** Paths and parameters that are written side by side, in any call. */
function writtenPlaces(): Place[] {
  return sources.flatMap(({ file, source }) => {
    const found = source.matchAll(
      /(?<!invoke\()(?:'([\w-]+)'|\['([\w-]+)'((?:, [^[\]']+)*)\]), (\{[^{}]*\})/g,
    )
    return [...found].map(([text, alone, first = '', rest = '', query = '']) => ({
      text: `${file}: ${text}`,
      view: alone ?? first,
      rest: rest.split(', ').filter(Boolean).map(partOf),
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

/** A part of a path: the text of a constant, or how the part is written. */
function partOf(written: string): string {
  return constants.get(written) ?? written
}

/** The calls that make addresses. */
const CALLS = new Set(['link', 'go', 'replace'])

/** Places of these calls, also if the path is a variable, or the parameters depend on something. */
function linkedPlaces(): Place[] {
  return sources.flatMap(({ file, source }) => {
    const paths: { name: string; start: number; value: Expression }[] = []
    const calls: { start: number; end: number; path: Argument; query: Argument }[] = []
    const { program } = parseSync(file, source)
    new Visitor({
      VariableDeclarator({ id, init, start }) {
        if (id.type === 'Identifier' && init) paths.push({ name: id.name, start, value: init })
      },
      CallExpression({ callee, arguments: [path, query], start, end }) {
        if (callee.type === 'Identifier' && CALLS.has(callee.name) && path && query)
          calls.push({ start, end, path, query })
      },
    }).visit(program)
    return calls.flatMap(({ start, end, path, query }) => {
      const held = path.type === 'Identifier' && path.name
      const value = held ? paths.findLast((each) => each.name === held && each.start < start)?.value : path
      const [view, ...rest] = value ? partsOf(value, source) : []
      if (view === undefined) return []
      return [{ text: `${file}: ${source.slice(start, end)}`, view, rest, keys: keysIn(query) }]
    })
  })
}

function partsOf(path: Argument, source: string): string[] {
  if (path.type === 'Literal') return [String(path.value)]
  if (path.type !== 'ArrayExpression') return []
  return path.elements.map((each) =>
    each?.type === 'Literal' ? String(each.value) : partOf(source.slice(each?.start, each?.end)),
  )
}

/** The names of an object, or of both objects of a condition. */
function keysIn(query: Argument): string[] {
  if (query.type === 'ConditionalExpression') return [...keysIn(query.consequent), ...keysIn(query.alternate)]
  if (query.type === 'LogicalExpression') return keysIn(query.right)
  if (query.type === 'ParenthesizedExpression') return keysIn(query.expression)
  if (query.type !== 'ObjectExpression') return []
  return query.properties.flatMap((each) => {
    if (each.type === 'SpreadElement') return keysIn(each.argument)
    return !each.computed && each.key.type === 'Identifier' ? [each.key.name] : []
  })
}

test('a link of the console has only parameters that its view knows', () => {
  const known: Record<string, readonly string[] | ((rest: string[]) => string[])> = ADDRESS_KEYS
  const linked = linkedPlaces()
  assert.ok(linked.some(({ rest, keys }) => rest.includes('waiting') && keys.includes('only')))
  const checked = [...writtenPlaces(), ...linked].filter(({ view }) => Object.hasOwn(known, view))
  assert.ok(checked.length > 20, `${checked.length} links`)
  const unknown = checked.flatMap(({ text, view, rest, keys }) => {
    const given = known[view] ?? []
    const accepted = typeof given === 'function' ? given(rest) : given
    return keys.filter((key) => !accepted.includes(key)).map((key) => `${key} in ${text}`)
  })
  assert.deepEqual(unknown, [])
})

/** Files that read the parameters of a view, and a path of it. */
const READERS: Readonly<Record<string, readonly [view: string, ...rest: string[]]>> = {
  'views/routes.js': ['routes'],
  'views/route-traffic.js': ['routes', 'NAME'],
  'views/skills.js': ['skills'],
  'views/skill.js': ['skills', 'NAME'],
  'views/cost.js': ['cost'],
  'views/jobs.js': ['jobs'],
  'views/people.js': ['people'],
  'views/audit-filter.js': ['audit'],
  'views/group.js': ['queues', 'TOPIC', 'GROUP'],
  'views/group-events.js': ['queues', 'TOPIC', 'GROUP'],
  'views/push-traffic.js': ['queues', 'TOPIC', 'GROUP'],
}

test('a view knows each parameter that it reads', () => {
  const known: Record<string, readonly string[] | ((rest: readonly string[]) => string[])> = ADDRESS_KEYS
  const unknown = Object.entries(READERS).flatMap(([file, [view, ...rest]]) => {
    const source = sources.find((each) => each.file === file)?.source ?? assert.fail(file)
    const taken = [...source.matchAll(/const (\{[^{}]*\}) = query\b/g)].flatMap(([, keys = '']) =>
      keysOf(keys.replaceAll(/ = [^,}]*/g, '')),
    )
    const read = [...source.matchAll(/\bquery\.(\w+)/g)].map(([, key = '']) => key)
    assert.ok(taken.length + read.length > 0, file)
    const given = known[view] ?? assert.fail(view)
    const accepted = typeof given === 'function' ? given(rest) : given
    return [...taken, ...read].filter((key) => !accepted.includes(key)).map((key) => `${key} in ${file}`)
  })
  assert.deepEqual(unknown, [])
})
