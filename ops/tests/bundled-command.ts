import { cpSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { madeOnce, ROOT } from './made-once.ts'

/** It finds `public.js` of the bundle from its own place; all others find files beside their source. */
const MOVED = 'src/runtime/load-code.ts'
/** `require` of CommonJS packages, which a bundle of ES modules lacks. */
const REQUIRE =
  "import { createRequire as ofBundle } from 'node:module'; const require = ofBundle(import.meta.url);"
/** It writes `import.meta` into other programs. */
const AS_WRITTEN = ['transports/slack/bolt/thread/typescript.ts']

/**
 * The command `trivium` in a few files: for daemons that tests start as processes. It does the same as the sources, and starts in half
 * the processor time, since a thousand modules need not be found and loaded one by one. Laid out like the package.
 */
export async function bundledCommand(): Promise<string> {
  return join(await madeOnce('command', bundle), 'bin', 'trivium.js')
}

async function bundle(folder: string): Promise<void> {
  const { build } = await import('esbuild')
  // Where it will be used.
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
    external: ownPackages(),
    banner: { js: REQUIRE },
    keepNames: true,
    logLevel: 'error',
    plugins: [
      {
        name: 'places of sources',
        setup({ onLoad }) {
          // Go has no look-ahead.
          onLoad({ filter: /\.ts$/ }, ({ path }) =>
            path.includes('/node_modules/') ? undefined : { contents: placed(path, dist), loader: 'ts' },
          )
        },
      },
    ],
  })
  const files = ['package.json', ...globSync('bin/*', { cwd: ROOT })]
  for (const file of files) cpSync(join(ROOT, file), join(folder, file))
}

/**
 * Packages that are loaded as they are: those of parts, which may be missing, those that skills share with the daemon, and those
 * that are imported late, as the names that a CommonJS package exports would be lost in a bundle.
 */
function ownPackages(): string[] {
  const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const sources = globSync('{src,transports}/**/*.ts', { cwd: ROOT }).map((file) =>
    readFileSync(join(ROOT, file), 'utf8'),
  )
  const late = [...sources.join('\n').matchAll(/\bimport\('([^.'][^']*)'\)/g)].map(([, name = '']) => name)
  const names = new Set([...Object.keys(peerDependencies), ...late, 'esbuild', 'zod'])
  return [...names].flatMap((name) => [name, `${name}/*`])
}

/** The source, with its own place written into it, as the bundle lies elsewhere. */
function placed(path: string, dist: string): string {
  const name = relative(ROOT, path)
  const text = readFileSync(path, 'utf8')
  if (AS_WRITTEN.includes(name)) return text
  const at = name === MOVED ? join(dist, name.replace(/\.ts$/, '.js')) : path
  return text
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(at).href))
    .replaceAll('import.meta.filename', JSON.stringify(at))
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(at)))
}
