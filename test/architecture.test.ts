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

/** What each part may import besides itself. The first pattern that fits a file names its part. */
const layers: { part: RegExp; may: RegExp[] }[] = [
  { part: /^src\/lib\//, may: [] },
  { part: /^src\/core\//, may: [] },
  { part: /^src\/(config|gateway|queues|skills|state|control)\//, may: [/^src\/core\//] },
  { part: /^src\/stores\/[^/]+\//, may: [/^src\/core\//, /^src\/stores\/shared\//] },
  { part: /^transports\/registry\.ts$/, may: [/^src\/core\//, /^transports\/[^/]+\/index\.ts$/] },
  { part: /^transports\/[^/]+\.ts$/, may: [/^src\/core\//] },
  { part: /^transports\/[^/]+\//, may: [/^src\/core\//, /^transports\/(?!registry)[^/]+\.ts$/] },
  { part: /^skills\/[^/]+\//, may: [/^src\/core\//] },
  { part: /^src\/daemon(\/|[^/]*\.ts$)/, may: [/^src\/(?!cli\/|main\.ts)/, /^transports\/registry\.ts$/] },
  { part: /^src\/public\.ts$/, may: [/^src\/(core|state)\//] },
  { part: /^src\/cli\//, may: [/^src\/(?!main\.ts)/, /^transports\/registry\.ts$/] },
  { part: /^src\/main\.ts$/, may: [/^src\//, /^transports\/registry\.ts$/] },
  { part: /^(test|ops)\//, may: [/^/] },
]

const sources = globSync('{src,transports,skills,ops,test}/**/*.{ts,mjs}', { cwd: root }).sort()
const product = sources.filter(
  (file) => /^(src|transports|skills)\//.test(file) && !file.endsWith('.test.ts'),
)
const imports = sources.flatMap(importsOf)

describe('architecture', () => {
  test('imports run one way: towards src/core', () => {
    const wrong = imports
      .filter(({ from, to }) => !mayImport(from, to))
      .map(
        ({ from, to }) =>
          `${from} imports ${to}: take what it needs as an argument, or move the type to src/core`,
      )
    assert.deepEqual(wrong, [])
  })

  test('every source file belongs to a part', () => {
    const homeless = product.filter((file) => partOf(file) === undefined)
    assert.deepEqual(homeless, [], 'move these into a part, or describe the new part in this test')
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

function partOf(file: string) {
  return layers.find(({ part }) => part.test(file))
}

function mayImport(from: string, to: string): boolean {
  const layer = partOf(from)
  if (layer === undefined) return false
  const own = layer.part.exec(from)?.[0]
  return (
    (own?.endsWith('/') && to.startsWith(own)) ||
    /^src\/lib\//.test(to) ||
    layer.may.some((pattern) => pattern.test(to))
  )
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
