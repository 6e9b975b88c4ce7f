// The house rules that no compiler checks. A failure names the place and says what to do.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

type Import = { from: string; to: string; isLate: boolean }

const root = fileURLToPath(new URL('..', import.meta.url))
const LONGEST_FILE = 400

/**
 * The rooms, layer by layer. A file may import what is in its own room and in the layers below; rooms of one layer do not
 * import each other. `*` is one name: each folder of `src/features/` is a room.
 */
const LAYERS: string[][] = [
  ['src/main.ts'],
  ['src/cli/'],
  ['src/daemon.ts'],
  ['src/daemon/'],
  ['src/api/', 'src/public.ts'],
  ['src/features/*/'],
  [
    'src/engine/',
    'src/runtime/',
    'src/http/',
    'src/config/',
    'src/stores/*/',
    'transports/registry.ts',
    'transports/*/',
    'skills/*/',
  ],
  ['src/stores/shared/', 'transports/*.ts'],
  ['src/core/'],
  ['src/lib/'],
]

/** Imports that the layers allow and the house does not: only the composition root and the command name transports. */
const CLOSED: { to: RegExp; except: RegExp }[] = [
  { to: /^transports\/registry\.ts$/, except: /^src\/(daemon|cli|main\.ts)/ },
  { to: /^transports\/[^/]+\/index\.ts$/, except: /^transports\// },
  { to: /^transports\//, except: /^(transports\/|src\/(daemon|cli|main\.ts))/ },
  { to: /^skills\//, except: /^skills\// },
]

/** Imports between rooms that are still to be cut, with the reason. A line that is no longer needed fails the test. */
const KNOWN_EXCEPTIONS: { from: string; to: string; why: string }[] = [
  {
    from: 'src/features/approvals/approvals.ts',
    to: 'src/daemon/access.ts',
    why: 'who is granted a role moves to core',
  },
  { from: 'src/features/live/feed.ts', to: 'src/api/history.ts', why: 'needs a port' },
  { from: 'src/runtime/services.ts', to: 'src/features/approvals/', why: 'needs a port' },
  { from: 'src/features/approvals/', to: 'src/features/assistant/', why: 'needs a port' },
  { from: 'src/features/assistant/', to: 'src/features/artifacts/', why: 'needs a port' },
  { from: 'src/features/assistant/', to: 'src/features/documents/', why: 'needs a port' },
  { from: 'src/features/assistant/', to: 'src/features/calls/', why: 'needs a port' },
  { from: 'src/features/assistant/', to: 'src/features/schedules/', why: 'needs a port' },
  { from: 'src/features/assistant/', to: 'src/features/transcript/', why: 'needs a port' },
  { from: 'src/features/assistant/', to: 'src/features/workbench/', why: 'needs a port' },
  { from: 'src/features/documents/', to: 'src/features/assistant/', why: 'needs a port' },
  { from: 'src/features/schedules/', to: 'src/features/assistant/', why: 'needs a port' },
  { from: 'src/features/schedules/', to: 'src/features/documents/', why: 'needs a port' },
  { from: 'src/features/schedules/', to: 'src/features/transcript/', why: 'needs a port' },
  { from: 'src/features/transcript/', to: 'src/features/approvals/', why: 'needs a port' },
  { from: 'src/features/transcript/', to: 'src/features/documents/', why: 'needs a port' },
  { from: 'src/features/workbench/', to: 'src/features/documents/', why: 'needs a port' },
]

const sources = globSync('{src,transports,skills,ops,test}/**/*.{ts,mjs}', { cwd: root }).sort()
const product = sources.filter(
  (file) => /^(src|transports|skills)\//.test(file) && !file.endsWith('.test.ts'),
)
const imports = sources.flatMap(importsOf)

describe('architecture', () => {
  test('imports point down the layers', () => {
    const wrong = imports
      .filter((edge) => !mayImport(edge) && !exceptionFor(edge))
      .map(
        ({ from, to }) =>
          `${from} imports ${to}: take what it needs as an argument, or move the type to src/core`,
      )
    assert.deepEqual(wrong, [])
    const needed = imports.filter((edge) => !mayImport(edge)).map(exceptionFor)
    const idle = KNOWN_EXCEPTIONS.filter((known) => !needed.includes(known))
    assert.deepEqual(idle, [], 'these exceptions are no longer needed: delete them')
  })

  test('every source file belongs to a room', () => {
    const homeless = product.filter((file) => roomOf(file) === undefined)
    assert.deepEqual(homeless, [], 'move these into a room, or describe the new room in this test')
  })

  test('no files import each other in a circle, not even their types', () => {
    assert.deepEqual(findCycles(), [], 'move what they share into a file of its own')
  })

  test(`no source file is longer than ${LONGEST_FILE} lines`, () => {
    const long = product
      .map((file) => ({ file, lines: read(file).split('\n').length - 1 }))
      .filter(({ lines }) => lines > LONGEST_FILE)
      .map(({ file, lines }) => `${file} has ${lines} lines: split it by idea`)
    assert.deepEqual(long, [])
  })

  test('no file of the tree names a package registry or a folder of one machine', () => {
    const ignored = ['node_modules', '.git', ...read('.gitignore').split('\n')]
      .filter((line) => line !== '')
      .map((line) => line.replace(/\/$/, ''))
    const texts = globSync('**/*', {
      cwd: root,
      withFileTypes: true,
      exclude: (entry) => ignored.includes(entry.name),
    })
      .filter((entry) => entry.isFile() && !/\.(png|ico|log|db|gz|node)$/.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    const machine = [
      /\bregistry\.(npmjs|yarnpkg|npmmirror)\b/,
      /\bdeb\.debian\b/,
      /(?<![\w.$}/-])\/(work|tmp)\/\w/,
    ]
    const found = texts.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, at) =>
          machine.some((pattern) => pattern.test(line)) ? [`${file}:${at + 1} ${line.trim()}`] : [],
        ),
    )
    assert.deepEqual(found, [], 'use os.tmpdir(), a path relative to the file, or no host at all')
  })

  test('the lock file lists the optional packages of every platform, so that npm ci accepts it', () => {
    const { packages } = JSON.parse(read('package-lock.json'))
    const missing = Object.entries<{ optionalDependencies?: Record<string, string> }>(packages).flatMap(
      ([path, entry]) =>
        Object.keys(entry.optionalDependencies ?? {}).filter(
          (name) => !(`node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages),
        ),
    )
    assert.deepEqual(missing, [], 'run: node ops/complete-lock.mjs')
  })
})

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** The relative imports of a file, types too, with paths from the root. `isLate`: by `import()`, when it is needed. */
function importsOf(file: string): Import[] {
  const source = read(file)
  const { module } = parseSync(file, source)
  const exported = module.staticExports.flatMap(({ entries }) => entries)
  const early = [...module.staticImports, ...exported].flatMap(
    ({ moduleRequest }) => moduleRequest?.value ?? [],
  )
  const late = module.dynamicImports.map(({ moduleRequest: { start, end } }) =>
    source.slice(start, end).replace(/^['"]|['"]$/g, ''),
  )
  const relative = (specifiers: string[], isLate: boolean) =>
    specifiers
      .filter((specifier) => /^\.{1,2}\//.test(specifier))
      .map((specifier) => ({ from: file, to: normalize(join(dirname(file), specifier)), isLate }))
  return [...relative(early, false), ...relative(late, true)]
}

/** The room of a file: its layer (0 is the top), and the part of its path that names the room. */
function roomOf(file: string): { layer: number; name: string } | undefined {
  const found = LAYERS.flatMap((patterns, layer) =>
    patterns.flatMap((pattern) => {
      const ending = pattern.endsWith('/') ? '' : '$'
      const name = new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]+')}${ending}`).exec(
        file,
      )?.[0]
      return name === undefined ? [] : [{ layer, name, isExact: !pattern.includes('*') }]
    }),
  )
  return found.find(({ isExact }) => isExact) ?? found[0]
}

function mayImport({ from, to }: Import): boolean {
  if (/^(test|ops)\//.test(from)) return true
  const [own, other] = [roomOf(from), roomOf(to)]
  if (own === undefined || other === undefined) return false
  if (own.name === other.name) return true
  const isClosed = CLOSED.some((rule) => rule.to.test(to) && !rule.except.test(from))
  // The registry is the one place that names the kinds of transports.
  const isRegistry = from === 'transports/registry.ts' && /^transports\/[^/]+\/index\.ts$/.test(to)
  return isRegistry || (!isClosed && own.layer < other.layer)
}

function exceptionFor({ from, to }: Import) {
  return KNOWN_EXCEPTIONS.find((known) => from.startsWith(known.from) && to.startsWith(known.to))
}

function findCycles(): string[] {
  const edges = Map.groupBy(
    imports.filter(({ isLate }) => !isLate),
    ({ from }) => from,
  )
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (file: string, path: string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) cycles.push([...path.slice(start), file].join(' → '))
    if (start >= 0 || done.has(file)) return
    for (const { to } of edges.get(file) ?? []) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of edges.keys()) visit(file, [])
  return cycles
}
