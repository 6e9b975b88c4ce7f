import { readdir } from 'node:fs/promises'

/**
 * The folders `before-restore-…` of a data directory, as a field of a result. They have the content
 * from before a `restore --force`. Nothing in them is counted, exported or erased. Empty if there
 * are none.
 */
export async function uncounted(dataDir: string): Promise<{ beforeRestore?: string[] }> {
  const entries = await readdir(dataDir, { withFileTypes: true })
  const folders = entries.filter((entry) => entry.isDirectory() && entry.name.startsWith('before-restore-'))
  return folders.length === 0 ? {} : { beforeRestore: folders.map(({ name }) => name).toSorted() }
}
