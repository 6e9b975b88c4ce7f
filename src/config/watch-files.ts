import { type Stats, unwatchFile, watchFile } from 'node:fs'

/** Ms between two looks at a file. Asking for its times also sees what notifications miss: mounts, links, ConfigMaps. */
const INTERVAL = 250

/**
 * Calls `changed` soon after one of the files was saved, replaced, linked elsewhere or removed; one need not be there.
 * Returns what ends that.
 */
export function watchFiles(files: readonly string[], changed: () => void): () => void {
  const look = (now: Stats, before: Stats) => {
    // Whoever only reads a file changes its times too.
    if (now.mtimeMs !== before.mtimeMs || now.ino !== before.ino) changed()
  }
  for (const file of files) watchFile(file, { interval: INTERVAL }, look)
  return () => {
    for (const file of files) unwatchFile(file, look)
  }
}
