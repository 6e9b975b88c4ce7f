import { createRequire } from 'node:module'
import { dirname, sep } from 'node:path'
import type { Log } from '../core/log.ts'
import type { Modules } from '../core/transport.ts'
import { createFreshImporter } from '../skills/load-code.ts'
import { watchSkills } from '../skills/registry.ts'

/** CommonJS has one cache for all. */
const { cache } = createRequire(import.meta.url)

/** Loads code that routes name, such as Bolt apps, and watches its folders. */
export function createModules(log: Log) {
  const folders: string[] = []
  const provided: Record<string, string> = {}
  let importer: ReturnType<typeof createFreshImporter> | undefined
  const watches = new Set<Promise<() => Promise<void>>>()

  return {
    load(file, packages) {
      const folder = dirname(file)
      if (!folders.includes(folder)) folders.push(folder)
      Object.assign(provided, packages)
      importer ??= createFreshImporter(folders, provided)
      for (const path of Object.keys(cache)) {
        if (path.startsWith(folder + sep) && !path.includes('node_modules')) delete cache[path]
      }
      return importer.load(file)
    },
    watch(file, changed) {
      const watch = watchSkills([dirname(file)], changed, log)
      watches.add(watch)
      return () => {
        watches.delete(watch)
        void watch.then((end) => end())
      }
    },
    async close(): Promise<void> {
      importer?.close()
      for (const watch of watches) await (await watch)()
    },
  } satisfies Modules & { close(): Promise<void> }
}
