import { join } from 'node:path'
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
 * Makes a function that loads all middleware: the built-in layers, and the modules in `<folder>/middleware/`, each
 * named after its file. A module whose name another layer has is refused, so that none replaces it.
 */
export function createMiddlewareLoader(
  folders: readonly string[],
  builtIn: readonly Middleware[],
  importer: ReturnType<typeof createFreshImporter>,
) {
  /** The last good version of each file, by path. */
  const lastGood = new Map<string, Middleware>()

  return async (fail: Fail): Promise<Middleware[]> => {
    const own: Middleware[] = []
    /** The file of each layer that was loaded, by the layer's name. */
    const files = new Map<string, string>()
    for (const file of await findLayers(folders)) {
      let { name } = file
      try {
        const loaded = await loadMiddleware(file, importer)
        name = loaded.name
        requireFreeName(name, files.get(name))
        lastGood.set(file.path, loaded)
      } catch (error) {
        fail(`${FOLDER}/${file.name}`, file.path, lastGood.has(file.path), error)
      }
      const usable = lastGood.get(file.path) ?? brokenMiddleware({ name, path: file.path })
      files.set(usable.name, file.path)
      own.push(usable)
    }
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
 * Replaces middleware that cannot be used. It breaks every skill with its key, so that none runs without its layer,
 * except if a built-in layer reads this key.
 */
function brokenMiddleware({ name, path }: LayerFile): Middleware {
  const isReadByOther = LAYERS_BY_KEY.some((key) => key === name)
  const setup = () => {
    if (isReadByOther) return undefined
    throw new Error(`the middleware ${path} cannot be loaded`)
  }
  return { name, order: 0, description: 'It cannot be loaded.', setup }
}

/** What a `BrokenSkill` is called: layers are named `middleware/NAME`. */
export function nounOf(broken: string): 'layer' | 'skill' {
  return broken.startsWith(`${FOLDER}/`) ? 'layer' : 'skill'
}
