import { existsSync, readFileSync, statSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'amaro'
import { createPathsMatcher, getTsconfig } from 'get-tsconfig'
import { reasonOf } from '../../../../src/core/errors.ts'
import { isJsonObject, parseJson, textAt } from '../../../../src/core/json.ts'
import { attempt } from '../../../../src/lib/attempt.ts'

/** What TypeScript compiles to a file of each extension, so what an import of one may mean. */
const SOURCES: [RegExp, string[]][] = [
  [/\.js$/, ['.ts', '.tsx']],
  [/\.mjs$/, ['.mts']],
  [/\.cjs$/, ['.cts']],
]
/** For imports that name no extension, or a folder. */
const EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json']

/** Where imports of a TypeScript project lead that Node does not follow: to sources, folders, and along `paths` of tsconfig.json. */
export function createSourceResolver(entry: string) {
  const tsconfig = attempt(() => getTsconfig(entry))
  const match = tsconfig ? attempt(() => createPathsMatcher(tsconfig)) : undefined
  return {
    /** For names such as `@/listeners`; undefined where tsconfig.json maps it to no file. */
    mapped: (specifier: string): string | undefined =>
      /^(\.{0,2}\/|node:|file:|#)/.test(specifier) ? undefined : first((match ?? (() => []))(specifier)),
    /** For what Node does not find: `./a.js` that is `a.ts`, `./a`, and `./folder`. */
    relative(specifier: string, parent: string | undefined): string | undefined {
      if (!parent || !/^(\.{1,2}(\/|$)|\/|file:)/.test(specifier)) return undefined
      return first([fileURLToPath(new URL(specifier.replace(/^\//, 'file:///'), parent))])
    },
  }
}

function first(paths: readonly string[]): string | undefined {
  const found = paths.flatMap(candidates).find((path) => existsSync(path) && statSync(path).isFile())
  return found && pathToFileURL(found).href
}

function candidates(path: string): string[] {
  const sources = SOURCES.flatMap(([compiled, extensions]) =>
    compiled.test(path) ? extensions.map((each) => path.replace(compiled, each)) : [],
  )
  const added = EXTENSIONS.flatMap((each) => [path + each])
  return [path, ...sources, ...added, ...EXTENSIONS.map((each) => join(path, `index${each}`))]
}

/** What is left of decorators, which no version of Node runs. Only to explain a failure: a text may look the same. */
const DECORATOR = /^\s*@[A-Za-z_$][\w$.]*(\(|\s*$)/m

/** Compiles the TypeScript of an app. */
export function createCompiler() {
  const decorated: string[] = []
  return {
    compile(url: string) {
      const made = compileTypeScript(fileURLToPath(url))
      if (DECORATOR.test(made.source)) decorated.push(fileURLToPath(url))
      return made
    },
    /** Why an app could not be loaded, with the file where Node names none. */
    explained(error: unknown): unknown {
      const isSyntax = error instanceof SyntaxError || textAt(error, 'name') === 'SyntaxError'
      const [file] = decorated
      return isSyntax && file
        ? new SyntaxError(`${file} uses decorators, which Node does not run. ${COMPILE}`)
        : error
    },
  }
}

const COMPILE = 'Compile the app (`npx tsc`) and name the result in the route'

/** TypeScript as JavaScript that Node runs, with enums, parameter properties, namespaces, and without imports of types alone. */
function compileTypeScript(filename: string): { source: string; format: 'module' | 'commonjs' } {
  const written = readFileSync(filename, 'utf8')
  const format = formatOf(filename, written)
  const { code, map } = compiled(filename, written)
  const source = format === 'module' ? withCommonNames(code) : code
  const inline = map
    ? `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`
    : ''
  return { source: source + inline, format }
}

/** JSON that is imported without `with { type: 'json' }`: TypeScript gives its keys as exports, too. */
export function jsonModule(url: string): string {
  const written = readFileSync(fileURLToPath(url), 'utf8')
  const value: unknown = JSON.parse(written)
  const names = isJsonObject(value) ? Object.keys(value).filter((key) => /^[A-Za-z_$][\w$]*$/.test(key)) : []
  const exported = names.filter((name) => name !== 'default').map((name, index) => `k${index} as ${name}`)
  const consts = names
    .filter((name) => name !== 'default')
    .map((name, index) => `const k${index} = value.${name};`)
  return `const value = ${written.trim()};\nexport default value;\n${consts.join('\n')}\nexport { ${exported.join(', ')} };`
}

function compiled(filename: string, written: string) {
  try {
    // Types may be imported without the word `type`, as TypeScript allows by default.
    const transform = { verbatimModuleSyntax: false, nativeClassProperties: true }
    const options = { mode: 'transform', filename, transform, sourceMap: true } as const
    return transformSync(written, options)
  } catch (error) {
    const reason = textAt(error, 'message') ?? reasonOf(error)
    throw new SyntaxError(`${filename} cannot be compiled: ${reason}. ${COMPILE}`)
  }
}

/** `import … from` and `export` make a module, whatever `module` of tsconfig.json compiles them to. */
function formatOf(filename: string, written: string): 'module' | 'commonjs' {
  if (filename.endsWith('.mts')) return 'module'
  if (filename.endsWith('.cts')) return 'commonjs'
  if (/^\s*(export\s*=|import\s+\w+\s*=\s*require\()/m.test(written)) return 'commonjs'
  if (/^\s*(import|export)\b/m.test(written)) return 'module'
  const near = attempt(() => findPackageJSON(pathToFileURL(filename)))
  const type = near && textAt(parseJson(readFileSync(near, 'utf8')), 'type')
  return type === 'module' || /\bimport\.meta\b|^\s*await\b/m.test(written) ? 'module' : 'commonjs'
}

/** What sources that are compiled to CommonJS elsewhere use of it. On one line with the code, so that its lines stay. */
function withCommonNames(code: string): string {
  const isMissing = (name: string) =>
    new RegExp(`(?<![.\\w])${name}\\b`).test(code) &&
    !new RegExp(`(const|let|var|function|import)\\s+(\\{[^}]*)?${name}\\b`).test(code)
  const made = [
    isMissing('__filename') ? 'const __filename = import.meta.filename;' : '',
    isMissing('__dirname') ? 'const __dirname = import.meta.dirname;' : '',
    isMissing('require')
      ? "const require = process.getBuiltinModule('module').createRequire(import.meta.url);"
      : '',
  ]
  return made.join('') + code
}

/** The folder of an app: where its package.json is, else where its file is. */
export function folderOf(file: string): string {
  const near = attempt(() => findPackageJSON(pathToFileURL(file)))
  return dirname(near ?? file)
}
