import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, sep } from 'node:path'
import type { Log } from '../core/log.ts'
import type { Modules } from '../core/transport.ts'
import { createFreshImporter } from '../skills/load-code.ts'
import { watchSkills } from '../skills/registry.ts'

/** CommonJS has one cache for all. */
const { cache } = createRequire(import.meta.url)
/** An app may write data beside its code. */
const CODE = /\.[cm]?[jt]sx?$/

/** Loads code that routes name, such as Bolt apps, and watches its folders. */
export function createModules(log: Log) {
  const provided: Record<string, string> = {}
  let importer: ReturnType<typeof createFreshImporter> | undefined

  return {
    async load(file, packages) {
      Object.assign(provided, packages)
      importer ??= createFreshImporter([], provided)
      const folder = dirname(realpathSync(file)) + sep
      for (const path of Object.keys(cache)) {
        if (path.startsWith(folder) && !path.includes('/node_modules/', folder.length - 1)) delete cache[path]
      }
      return importer.load(file)
    },
    watch(file, changed) {
      const watch = watchSkills([dirname(file)], changed, log, CODE)
      return () => void watch.then((end) => end())
    },
    close: () => importer?.close(),
  } satisfies Modules & { close(): void }
}
