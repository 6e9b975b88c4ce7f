// The house rules that no compiler checks. A failure names the place and says what to do.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

type Import = { from: string; to: string }

const root = fileURLToPath(new URL('..', import.meta.url))
const LONGEST_FILE = 400
const LONGEST_FUNCTION = 80

/**
 * The parts of the product by layer: folders, and single files. A file can import files of its own
 * part and of lower layers; parts of one layer do not import each other. `*` stands for one name:
 * each folder in `src/features/` is a part.
 */
const LAYERS: string[][] = [
  ['src/main.ts'],
  ['src/cli/'],
  ['src/daemon.ts'],
  ['src/daemon/'],
  ['src/api/', 'src/public.ts'],
  ['src/features/*/'],
  // Other features keep their state in documents.
  ['src/features/documents/'],
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
  // The contract of each feature with its users: its section of routes.yaml, which config puts
  // together.
  ['src/features/*/schema.ts', 'src/runtime/mcp/schema.ts'],
  // Below the other sections, because the schema of `notify:` uses the targets of push.
  ['src/features/push/schema.ts'],
  // Parsing and verification of HTTP deliveries, for every transport with a webhook.
  ['transports/deliveries/'],
  ['src/stores/shared/', 'transports/*.ts'],
  ['src/core/'],
  ['src/lib/'],
]

/**
 * A section of routes.yaml in the folder of its feature. Config is below the features, but has to
 * know all sections. So these files are a layer of their own below config, and import nothing of
 * their feature. Others get the parsed sections from config.
 */
const SECTION = /^src\/(features\/[^/]+|runtime\/mcp)\/schema\.ts$/

/** How people see the results of operations: files beside the operations. */
const PRINTER = /^src\/(features\/[^/]+\/print(\.ts|\/)|engine\/print\/)/

/**
 * Imports that are forbidden although the layers allow them: of a file `to`, except by these files.
 */
const CLOSED: { to: RegExp; except: RegExp }[] = [
  // Only the command line loads printers.
  { to: PRINTER, except: /^(src\/cli\/|src\/features\/[^/]+\/print\.ts$|src\/engine\/print\/)/ },
  // Only config reads sections, and other sections. (A feature can import its own, see
  // `isOwnSection`.)
  { to: SECTION, except: /^src\/(config\/|features\/[^/]+\/schema\.ts$)/ },
  // Only the composition root and the command line know which transports there are.
  { to: /^transports\/registry\.ts$/, except: /^src\/(daemon|cli|main\.ts)/ },
  // The registry loads transports (see `isRegistry`).
  { to: /^transports\/[^/]+\/index\.ts$/, except: /^transports\// },
  // Files of transports are private, except `host.ts`: its types are for those who provide the
  // dependencies.
  { to: /^transports\/(?!\w+\/host\.ts)/, except: /^(transports\/|src\/(daemon|cli|main\.ts))/ },
  // Skills are found in their folder, not imported.
  { to: /^skills\//, except: /^skills\// },
]

/**
 * The schemas of core: the vocabulary of other schemas, and the records that several parts store or
 * send. Arguments of operations belong to the part of the operation (`operations.ts`), sections of
 * routes.yaml to its `schema.ts`.
 */
const CORE_SCHEMAS = {
  vocabulary:
    'arguments hours iso-time json match pattern provider-options queue-name redis-url request-headers spoken units',
  records:
    'approval audit conversation-note event long-job message pause-record reply schedule session skill trouble',
}

const sources = globSync('{src,transports,skills,ops,test}/**/*.{ts,mjs}', { cwd: root }).sort()
const product = sources.filter(
  (file) => /^(src|transports|skills)\//.test(file) && !file.endsWith('.test.ts'),
)
/** The product with the console, which is JavaScript. */
const scripts = [...product, ...globSync('src/console/**/*.js', { cwd: root }).sort()]
const imports = sources.flatMap((file) => importsOf(file))

describe('architecture', () => {
  test('imports point down the layers', () => {
    const wrong = imports
      .filter((edge) => !mayImport(edge))
      .map(
        ({ from, to }) =>
          `${from} imports ${to}: take what it needs as an argument, or move the type to src/core`,
      )
    assert.deepEqual(wrong, [])
  })

  test('printers import only core, lib, other printers and types of their feature', () => {
    const isTypeOfFeature = ({ from, to }: Import) =>
      dirname(from) === dirname(to) &&
      !importsOf(from, valueSpecifiersOf(from)).some((edge) => edge.to === to)
    const mayPrinterImport = (edge: Import) =>
      /^src\/(core|lib)\//.test(edge.to) || PRINTER.test(edge.to) || isTypeOfFeature(edge)
    const wrong = imports.filter((edge) => PRINTER.test(edge.from) && !mayPrinterImport(edge))
    assert.deepEqual(wrong, [], 'a printer gets all it shows as its argument')
  })

  test('the console imports only itself, `lib` and the packages of browsers', () => {
    const files = globSync('src/console/**/*.js', { cwd: root }).sort()
    const ofProduct = files
      .flatMap((file) => importsOf(file))
      .filter(({ to }) => !/^src\/(console|lib)\//.test(to))
      .map(({ from, to }) => `${from} imports ${to}`)
    const browserPackages = /^(preact|preact\/hooks|@preact\/signals|htm|uplot)$/
    const packages = files
      .flatMap((file) => packagesOf(file).map((name) => `${file} imports ${name}`))
      .filter((text) => !browserPackages.test(text.split(' ').at(-1) ?? ''))
    assert.deepEqual([...ofProduct, ...packages], [], 'browsers load all that these import')
  })

  test('src/core imports no package of a store, a queue or a transport', () => {
    const allowed = /^(node:|zod$|re2js$|croner$|yaml$)/
    const foreign = product
      .filter((file) => file.startsWith('src/core/'))
      .flatMap((file) => packagesOf(file).map((name) => ({ file, name })))
      .filter(({ name }) => !allowed.test(name))
    assert.deepEqual(foreign, [], 'a type of a package belongs to the part that uses it')
  })

  test('src/core has no schemas of arguments or of routes.yaml', () => {
    const allowed = Object.values(CORE_SCHEMAS).flatMap((names) => names.split(' '))
    const found = product.filter((file) => file.startsWith('src/core/') && makesSchemas(file))
    assert.deepEqual(
      found.map((file) => basename(file, '.ts')).sort(),
      allowed.sort(),
      'move a new one to the `operations.ts` or `schema.ts` of its part',
    )
  })

  test('ARCHITECTURE.md lists every feature, and names only paths that exist', () => {
    const page = read('ARCHITECTURE.md')
    const [, listed = ''] = /one folder per feature: ([\w, -]+)/.exec(page) ?? []
    const features = globSync('src/features/*', { cwd: root }).map((folder) => basename(folder))
    assert.deepEqual(listed.trim().split(', '), features.sort())
    const paths = [...page.matchAll(/`((?:src|transports|skills|test|ops|docs|stores|lua)\/[\w./-]+)`/g)]
    const candidates = (path: string) => [path, `src/${path}`, `src/stores/redis/${path}`]
    const missing = paths.flatMap(([, path = '']) =>
      candidates(path).some((one) => existsSync(join(root, one))) ? [] : [path],
    )
    assert.deepEqual(missing, [])
  })

  test('every source file belongs to a part', () => {
    const withoutPart = product.filter((file) => partOf(file) === undefined)
    assert.deepEqual(withoutPart, [], 'move these into a part, or add the new part to LAYERS')
  })

  test('no files import each other in a circle, including type and late imports', () => {
    assert.deepEqual(findCircles(imports), [], 'move what they share into a file of its own')
  })

  test('no sibling folders import each other in a circle', () => {
    const between = imports
      .filter(({ from, to }) => product.includes(from) && !SECTION.test(to))
      .flatMap(betweenSiblings)
    assert.deepEqual(findCircles(between), [], 'move what they share into a folder of its own')
  })

  test(`no function is longer than ${LONGEST_FUNCTION} lines, closures included`, () => {
    const long = scripts
      .flatMap(longFunctionsIn)
      .map(({ place, lines }) => `${place} has ${lines} lines: name its parts and move them out`)
    assert.deepEqual(long, [])
  })

  test(`no source file is longer than ${LONGEST_FILE} lines`, () => {
    const long = scripts
      .map((file) => ({ file, lines: read(file).split('\n').length - 1 }))
      .filter(({ lines }) => lines > LONGEST_FILE)
      .map(({ file, lines }) => `${file} has ${lines} lines: split it by idea`)
    assert.deepEqual(long, [])
  })

  test('tests answer requests of a page with `intercept`, which waits for answers under way', () => {
    const found = sources.filter(
      (file) => file.startsWith('test/browser/') && /\.(route|unroute|unrouteAll)\(/.test(read(file)),
    )
    assert.deepEqual(found, [], 'use test/fixtures/intercept.ts')
  })

  test('no file names a package registry or an absolute path of a machine', () => {
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
    const patterns = [
      /\bregistry\.(npmjs|yarnpkg|npmmirror)\b/,
      /\bdeb\.debian\b/,
      /(?<![\w.$}/-])\/(work|tmp)\/\w/,
    ]
    const found = texts.flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) =>
          patterns.some((pattern) => pattern.test(line)) ? [`${file}:${index + 1} ${line.trim()}`] : [],
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

/** The relative imports of a file, as paths from the root. */
function importsOf(file: string, specifiers = specifiersOf(file)): Import[] {
  return specifiers
    .filter((specifier) => /^\.{1,2}\//.test(specifier))
    .map((specifier) => ({ from: file, to: normalize(join(dirname(file), specifier)) }))
}

function makesSchemas(file: string): boolean {
  return valueSpecifiersOf(file).includes('zod')
}

/** The specifiers from which a file statically imports values, not only types. */
function valueSpecifiersOf(file: string): string[] {
  const { module } = parseSync(file, read(file))
  return module.staticImports
    .filter(({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType))
    .map(({ moduleRequest }) => moduleRequest.value)
}

function packagesOf(file: string): string[] {
  return specifiersOf(file).filter((specifier) => !specifier.startsWith('.'))
}

/** The specifiers of all imports of a file: static, of types, and late (`import()`). */
function specifiersOf(file: string): string[] {
  const source = read(file)
  const { module } = parseSync(file, source)
  const exported = module.staticExports.flatMap(({ entries }) => entries)
  const early = [...module.staticImports, ...exported].flatMap(
    ({ moduleRequest }) => moduleRequest?.value ?? [],
  )
  const late = module.dynamicImports.map(({ moduleRequest: { start, end } }) => source.slice(start, end))
  // The parser lists no imports within types (`typeof import('…')`).
  const inTypes = [...source.matchAll(/\bimport\(('[^']+')\)/g)].map(([, specifier = '']) => specifier)
  const quoted = [...late, ...inTypes].map((text) => text.replace(/^['"]|['"]$/g, ''))
  return [...new Set([...early, ...quoted])]
}

/**
 * The folders of an import if they are siblings: `a/b/x.ts` → `a/c/y.ts` is `a/b` → `a/c`. Empty
 * for other imports, and for folders of the root, which are layers.
 */
function betweenSiblings({ from, to }: Import): Import[] {
  const [own, other] = [from.split('/'), to.split('/')]
  const depth = own.findIndex((name, index) => name !== other[index])
  const areFolders = depth < own.length - 1 && depth < other.length - 1
  if (depth === 0 || !areFolders) return []
  const folderOf = (path: string[]) => path.slice(0, depth + 1).join('/')
  return [{ from: folderOf(own), to: folderOf(other) }]
}

/**
 * The functions of a file that are too long. A function without a name has the name of its parent.
 */
function longFunctionsIn(file: string): { place: string; lines: number }[] {
  const source = read(file)
  const found: { place: string; lines: number }[] = []
  const visit = (node: unknown, outer: string): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, start, end, id, key }: Record<string, unknown> = { ...node }
    const name = nameOf(id) ?? nameOf(key) ?? outer
    if (/^(Function(Declaration|Expression)|ArrowFunctionExpression)$/.test(String(type))) {
      const lines = source.slice(Number(start), Number(end)).split('\n').length
      if (lines > LONGEST_FUNCTION) found.push({ place: `${file} ${name}`, lines })
    }
    for (const child of Object.values(node)) visit(child, name)
  }
  visit(parseSync(file, source).program, '')
  return found
}

function nameOf(identifier: unknown): string | undefined {
  const { name } = Object(identifier)
  return typeof name === 'string' ? name : undefined
}

/**
 * The part that a file belongs to: its layer (0 is the top), and the beginning of the path that
 * matches a pattern of LAYERS. The longest match counts, and of two equal ones that without `*`.
 */
function partOf(file: string): { layer: number; name: string } | undefined {
  const matches = LAYERS.flatMap((patterns, layer) =>
    patterns.flatMap((pattern) => {
      const name = matchOf(pattern, file)
      return name === undefined ? [] : [{ layer, name, stars: pattern.includes('*') ? 1 : 0 }]
    }),
  )
  return matches.sort((a, b) => b.name.length - a.name.length || a.stars - b.stars)[0]
}

/** The beginning of a path that matches a folder, or the whole path that matches a file. */
function matchOf(pattern: string, file: string): string | undefined {
  const end = pattern.endsWith('/') ? '' : '$'
  const text = pattern.replaceAll('.', '\\.').replaceAll('*', '[^/]+')
  return new RegExp(`^${text}${end}`).exec(file)?.[0]
}

function mayImport({ from, to }: Import): boolean {
  if (/^(test|ops)\//.test(from)) return true
  const [own, other] = [partOf(from), partOf(to)]
  if (own === undefined || other === undefined) return false
  const isOwnSection = SECTION.test(to) && dirname(from) === dirname(to)
  if (own.name === other.name || isOwnSection) return true
  const isClosed = CLOSED.some((rule) => rule.to.test(to) && !rule.except.test(from))
  // The registry is the one place that names the kinds of transports.
  const isRegistry = from === 'transports/registry.ts' && /^transports\/[^/]+\/(index|host)\.ts$/.test(to)
  return isRegistry || (!isClosed && own.layer < other.layer)
}

function findCircles(all: Import[]): string[] {
  const edges = Map.groupBy(all, ({ from }) => from)
  const done = new Set<string>()
  const circles = new Set<string>()
  const visit = (place: string, path: string[]): void => {
    const start = path.indexOf(place)
    if (start >= 0) circles.add([...path.slice(start), place].join(' → '))
    if (start >= 0 || done.has(place)) return
    for (const { to } of edges.get(place) ?? []) visit(to, [...path, place])
    done.add(place)
  }
  for (const place of edges.keys()) visit(place, [])
  return [...circles]
}
