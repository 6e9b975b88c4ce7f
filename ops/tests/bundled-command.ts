import { cpSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { madeOnce, ROOT } from './made-once.ts'

/**
 * The module that looks for a file of the bundle, `public.js`, beside itself. All others look for
 * files beside their source.
 */
const IN_BUNDLE = 'src/runtime/load-code.ts'
/** Defines `require`, which CommonJS packages use, and which a bundle of ES modules lacks. */
const DEFINE_REQUIRE =
  "import { createRequire as makeRequire } from 'node:module'; const require = makeRequire(import.meta.url);"
/**
 * Calls that the bundle leaves out: they save memory only in daemons that run for weeks, and take a
 * sixth of the processor time of a start.
 */
const MEMORY_SAVING = {
  file: 'src/cli/start.ts',
  calls: ['collectGarbage()', "setFlagsFromString('--heap-growing-percent=50')"],
}
/** Modules that write `import.meta` into other programs, where it must stay. */
const UNCHANGED = ['transports/slack/bolt/thread/typescript.ts']

/**
 * The command `trivium` in a few files, for daemons that tests start as processes. It does the same
 * as the sources, except for the calls of `MEMORY_SAVING`. It starts in half the processor time,
 * since it need not load a thousand modules one by one. It has the layout of the package.
 */
export async function bundledCommand(): Promise<string> {
  return join(await madeOnce('command', bundle), 'bin', 'trivium.js')
}

async function bundle(folder: string): Promise<void> {
  const { build } = await import('esbuild')
  // `madeOnce` renames the folder when it is complete.
  const dist = join(folder.replace(/\.unfinished$/, ''), 'dist')
  await build({
    absWorkingDir: ROOT,
    entryPoints: ['src/main.ts', 'src/public.ts'],
    outbase: '.',
    outdir: join(folder, 'dist'),
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    external: externalPackages(),
    banner: { js: DEFINE_REQUIRE },
    keepNames: true,
    logLevel: 'error',
    plugins: [
      {
        name: 'paths of sources',
        setup({ onLoad }) {
          // The filter cannot exclude node_modules: regular expressions of Go have no look-ahead.
          onLoad({ filter: /\.ts$/ }, ({ path }) =>
            path.includes('/node_modules/') ? undefined : { contents: sourceOf(path, dist), loader: 'ts' },
          )
        },
      },
    ],
  })
  const files = ['package.json', ...globSync('bin/*', { cwd: ROOT })]
  for (const file of files) cpSync(join(ROOT, file), join(folder, file))
}

/**
 * Packages that are not bundled: those of parts, which may be missing; those that skills share with
 * the daemon; and those that are imported late, since a bundle loses the export names of CommonJS
 * packages.
 */
function externalPackages(): string[] {
  const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const sources = globSync('{src,transports}/**/*.ts', { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  )
  const late = [...sources.join('\n').matchAll(/\bimport\('([^.'][^']*)'\)/g)].map(([, name = '']) => name)
  const names = new Set([...Object.keys(peerDependencies), ...late, 'esbuild', 'zod'])
  return [...names].flatMap((name) => [name, `${name}/*`])
}

/** The source with its own path, and without the calls of `MEMORY_SAVING`. */
function sourceOf(path: string, dist: string): string {
  const text = withPath(path, dist)
  if (relative(ROOT, path) !== MEMORY_SAVING.file) return text
  return MEMORY_SAVING.calls.reduce((rest, call) => {
    const line = `\n    ${call}\n`
    if (!rest.includes(line)) throw new Error(`${MEMORY_SAVING.file} has no line ${call}`)
    return rest.replace(line, '\n')
  }, text)
}

/** The source with its own path instead of `import.meta`, since the bundle is in another folder. */
function withPath(path: string, dist: string): string {
  const name = relative(ROOT, path)
  const text = readFileSync(path, 'utf8')
  if (UNCHANGED.includes(name)) return text
  const ownPath = name === IN_BUNDLE ? join(dist, name.replace(/\.ts$/, '.js')) : path
  return text
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(ownPath).href))
    .replaceAll('import.meta.filename', JSON.stringify(ownPath))
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(ownPath)))
}
