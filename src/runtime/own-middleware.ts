import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { TriviumError } from '../core/errors.ts'
import { isBuiltInLayer, LAYERS_BY_KEY } from '../core/layers.ts'
import type { Middleware } from '../core/skill.ts'
import { entriesOfAll } from './discover.ts'
import { type createFreshImporter, loadMiddleware } from './load-code.ts'
import type { Fail } from './sources.ts'

/** The folder of layers, inside a folder of skills. */
const FOLDER = 'middleware'
const MODULE = /\.(ts|js|mjs)$/

/** A module of a layer. `name`: its file name without the extension. */
type LayerFile = { name: string; path: string }

/**
 * Makes a function that loads all middleware: the built-in layers, and the modules in
 * `<folder>/middleware/`, each named after its file. A module with the name of another layer is
 * refused, so that no layer is replaced.
 */
export function createMiddlewareLoader(
  folders: readonly string[],
  builtIn: readonly Middleware[],
  importer: ReturnType<typeof createFreshImporter>,
) {
  /** The last good version of each file, by path. */
  const lastGood = new Map<string, Middleware>()
  /** The files that could not be loaded at the start. */
  let brokenAtStart: Set<string> | undefined

  return async (fail: Fail): Promise<Middleware[]> => {
    const own: Middleware[] = []
    /** The file of each layer that was loaded, by the layer's name. */
    const files = new Map<string, string>()
    const broken = new Set<string>()
    for (const file of await findLayers(folders)) {
      let { name } = file
      let isLoaded = false
      try {
        const loaded = await loadMiddleware(file, importer)
        name = loaded.name
        isLoaded = true
        requireFreeName(name, files.get(name))
        lastGood.set(file.path, loaded)
      } catch (error) {
        fail(`${FOLDER}/${file.name}`, file.path, lastGood.has(file.path), error)
      }
      const usable = lastGood.get(file.path)
      if (!usable && !isLoaded) broken.add(file.path)
      const isMissing = !isLoaded && (brokenAtStart?.has(file.path) ?? true)
      const layers = usable ? [usable] : await brokenLayers({ name, path: file.path }, isMissing)
      for (const layer of layers) files.set(layer.name, file.path)
      own.push(...layers)
    }
    brokenAtStart ??= broken
    return [...builtIn, ...own]
  }
}

/** The modules of own layers. As with skills, earlier folders win. */
async function findLayers(folders: readonly string[]): Promise<LayerFile[]> {
  const entries = await entriesOfAll(folders.map((folder) => join(folder, FOLDER)))
  const files = new Map<string, LayerFile>()
  for (const { folder, name: file } of entries) {
    const name = file.replace(MODULE, '')
    if (MODULE.test(file) && !files.has(name)) files.set(name, { name, path: join(folder, file) })
  }
  return [...files.values()]
}

/** Throws if a layer of Trivium or of another file has this name. */
function requireFreeName(name: string, otherFile: string | undefined): void {
  const owner = isBuiltInLayer(name) ? 'a built-in layer, which stays in force' : otherFile
  if (owner !== undefined) throw new Error(`the name ${name} belongs to ${owner}; choose another name`)
}

/**
 * The layers in place of one that cannot be used. `isMissing`: it was never loaded since the start.
 * Then the text of its file shows which other names it may have, and whether it may apply to every
 * skill.
 */
async function brokenLayers({ name, path }: LayerFile, isMissing: boolean): Promise<Middleware[]> {
  if (!isMissing) return [brokenLayer({ name, path }, false)]
  const text = (await readFile(path, 'utf8').catch(() => undefined)) ?? 'always: true'
  const inText = [...text.matchAll(NAME)].flatMap(([, , found]) => found ?? [])
  const names = [...new Set([name, ...inText])]
  return names.map((key) => brokenLayer({ name: key, path }, key === name && ALWAYS.test(text)))
}

/** In the text of a layer: `always: true`, or `always` with a value that is not in the text. */
const ALWAYS = /\balways\b(?!\s*:\s*false)\s*[:,}]/
const NAME = /\bname\s*:\s*(['"`])([\w.-]+)\1/g

/**
 * Stands for a layer that cannot be loaded: breaks every skill whose metadata has its key, so that
 * none runs without the layer. A key that a built-in layer reads breaks nothing. With `always`, it
 * breaks all other skills too; built-in ones only for messages.
 */
function brokenLayer({ name, path }: LayerFile, always: boolean): Middleware {
  const isReadByOther = LAYERS_BY_KEY.some((key) => key === name)
  const reason = `the middleware ${path} cannot be loaded`
  const setup: Middleware['setup'] = (settings, skill, { isBuiltIn }) => {
    // Without `always`, only skills with the key get here.
    const isUsed = (!always || settings !== undefined) && !isReadByOther
    if (isUsed || (always && !isBuiltIn)) throw new Error(reason)
    if (!always) return undefined
    return (ctx, next) => {
      if (ctx.message) throw new TriviumError('skill_broken', { name: skill.name, path, reason })
      return next()
    }
  }
  return { name, order: 0, description: 'It cannot be loaded.', always, setup }
}

/** Whether the name of a `BrokenSkill` is that of a layer: `middleware/NAME`. */
export function nounOf(broken: string): 'layer' | 'skill' {
  return broken.startsWith(`${FOLDER}/`) ? 'layer' : 'skill'
}
