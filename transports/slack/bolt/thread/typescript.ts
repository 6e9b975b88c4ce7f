import { existsSync, readFileSync, statSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { transformSync } from 'amaro'
import { createPathsMatcher, getTsconfig } from 'get-tsconfig'
import { reasonOf } from '../../../../src/core/errors.ts'
import { isJsonObject, parseJson, textAt } from '../../../../src/core/json.ts'
import { attempt } from '../../../../src/lib/attempt.ts'

/** TypeScript sources that an import with each extension may refer to. */
const SOURCES: [RegExp, string[]][] = [
  [/\.js$/, ['.ts', '.tsx']],
  [/\.mjs$/, ['.mts']],
  [/\.cjs$/, ['.cts']],
]
/** Extensions tried for imports without one, and for folders. */
const EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json']

/**
 * Resolves imports of TypeScript projects that Node does not support: sources, folders, and `paths`
 * of tsconfig.json.
 */
export function createSourceResolver(entry: string) {
  const tsconfig = attempt(() => getTsconfig(entry))
  const match = tsconfig ? attempt(() => createPathsMatcher(tsconfig)) : undefined
  return {
    /**
     * Resolves names such as `@/listeners`; undefined if tsconfig.json does not map them to a file.
     */
    mapped: (specifier: string): string | undefined =>
      /^(\.{0,2}\/|node:|file:|#)/.test(specifier) ? undefined : firstFile(match?.(specifier) ?? []),
    /** Resolves `./a.js` for `a.ts`, `./a`, and `./folder`. */
    relative(specifier: string, parent: string | undefined): string | undefined {
      if (!parent || !/^(\.{1,2}(\/|$)|\/|file:)/.test(specifier)) return undefined
      return firstFile([fileURLToPath(new URL(specifier.replace(/^\//, 'file:///'), parent))])
    },
  }
}

/** The URL of the first existing file that one of the paths may refer to. */
function firstFile(paths: readonly string[]): string | undefined {
  const file = paths.flatMap(candidates).find((path) => existsSync(path) && statSync(path).isFile())
  return file && pathToFileURL(file).href
}

function candidates(path: string): string[] {
  const sources = SOURCES.flatMap(([compiled, extensions]) =>
    compiled.test(path) ? extensions.map((each) => path.replace(compiled, each)) : [],
  )
  const added = EXTENSIONS.flatMap((each) => [path + each])
  return [path, ...sources, ...added, ...EXTENSIONS.map((each) => join(path, `index${each}`))]
}

/**
 * Matches decorators, which Node cannot run. Used only to explain failures, because strings may
 * look the same.
 */
const DECORATOR = /^\s*@[A-Za-z_$][\w$.]*(\(|\s*$)/m

/** Creates the compiler for an app's TypeScript. */
export function createCompiler() {
  const withDecorators: string[] = []
  return {
    compile(url: string) {
      const module = compileTypeScript(fileURLToPath(url))
      if (DECORATOR.test(module.source)) withDecorators.push(fileURLToPath(url))
      return module
    },
    /** Explains a load failure, with the file if Node does not name it. */
    explained(error: unknown): unknown {
      const isSyntax = error instanceof SyntaxError || textAt(error, 'name') === 'SyntaxError'
      const [file] = withDecorators
      return isSyntax && file
        ? new SyntaxError(`${file} uses decorators, which Node does not run. ${COMPILE}`)
        : error
    },
  }
}

const COMPILE = 'Compile the app (`npx tsc`) and name the result in the route'

/**
 * Compiles TypeScript, including enums, parameter properties and namespaces, and removes type-only
 * imports.
 */
function compileTypeScript(filename: string): { source: string; format: 'module' | 'commonjs' } {
  const text = readFileSync(filename, 'utf8')
  const format = formatOf(filename, text)
  const { code, map } = transform(filename, text)
  const source = format === 'module' ? withCommonNames(code) : code
  const sourceMap = map
    ? `\n//# sourceMappingURL=data:application/json;base64,${Buffer.from(map).toString('base64')}`
    : ''
  return { source: source + sourceMap, format }
}

/**
 * A module for JSON imported without `with { type: 'json' }`, with its keys as exports, as in
 * TypeScript.
 */
export function jsonModule(url: string): string {
  const text = readFileSync(fileURLToPath(url), 'utf8')
  const value: unknown = JSON.parse(text)
  const keys = isJsonObject(value) ? Object.keys(value) : []
  const names = keys.filter((key) => key !== 'default' && /^[A-Za-z_$][\w$]*$/.test(key))
  const consts = names.map((name, index) => `const k${index} = value.${name};`)
  const exported = names.map((name, index) => `k${index} as ${name}`)
  return `const value = ${text.trim()};\nexport default value;\n${consts.join('\n')}\nexport { ${exported.join(', ')} };`
}

function transform(filename: string, text: string) {
  try {
    // Types may be imported without the keyword `type`, as TypeScript allows by default.
    const settings = { verbatimModuleSyntax: false, nativeClassProperties: true }
    return transformSync(text, { mode: 'transform', filename, transform: settings, sourceMap: true })
  } catch (error) {
    const reason = textAt(error, 'message') ?? reasonOf(error)
    throw new SyntaxError(`${filename} cannot be compiled: ${reason}. ${COMPILE}`)
  }
}

/** `import … from` and `export` make an ES module, regardless of `module` in tsconfig.json. */
function formatOf(filename: string, text: string): 'module' | 'commonjs' {
  if (filename.endsWith('.mts')) return 'module'
  if (filename.endsWith('.cts')) return 'commonjs'
  if (/^\s*(export\s*=|import\s+\w+\s*=\s*require\()/m.test(text)) return 'commonjs'
  if (/^\s*(import|export)\b/m.test(text)) return 'module'
  const manifest = attempt(() => findPackageJSON(pathToFileURL(filename)))
  const type = manifest && textAt(parseJson(readFileSync(manifest, 'utf8')), 'type')
  return type === 'module' || /\bimport\.meta\b|^\s*await\b/m.test(text) ? 'module' : 'commonjs'
}

/**
 * Defines `__filename`, `__dirname` and `require`, which sources that are usually compiled to
 * CommonJS may use. Without a line break, so that line numbers stay.
 */
function withCommonNames(code: string): string {
  const isMissing = (name: string) =>
    new RegExp(`(?<![.\\w])${name}\\b`).test(code) &&
    !new RegExp(`(const|let|var|function|import)\\s+(\\{[^}]*)?${name}\\b`).test(code)
  const definitions = [
    isMissing('__filename') ? 'const __filename = import.meta.filename;' : '',
    isMissing('__dirname') ? 'const __dirname = import.meta.dirname;' : '',
    isMissing('require')
      ? "const require = process.getBuiltinModule('module').createRequire(import.meta.url);"
      : '',
  ]
  return definitions.join('') + code
}

/** The folder of an app: that of its package.json, else of its file. */
export function folderOf(file: string): string {
  const manifest = attempt(() => findPackageJSON(pathToFileURL(file)))
  return dirname(manifest ?? file)
}
