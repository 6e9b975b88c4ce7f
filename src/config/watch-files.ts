import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { watch } from 'chokidar'
import { reasonOf } from '../core/errors.ts'

/** What Kubernetes swaps when a mounted ConfigMap changes; the file itself is a link through it. */
const CONFIG_MAP_LINK = '..data'

/**
 * Calls `changed` when files say something else than before, once for what is saved within `quiet` ms: editors write in
 * several steps. It watches folders, so files that editors replace, remove for a moment, or link elsewhere are seen.
 * Resolves, when it watches, with what ends that.
 */
export async function watchFiles(
  files: readonly string[],
  changed: () => void,
  failed: (error: unknown) => void,
  quiet = 100,
): Promise<() => Promise<void>> {
  const folders = [...new Set(files.map((file) => dirname(file)))]
  const names = new Set([...files.map((file) => basename(file)), CONFIG_MAP_LINK])
  let seen = await contentOf(files)
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const look = async () => {
    const content = await contentOf(files)
    if (content === seen || isClosed) return
    seen = content
    changed()
  }

  const watcher = watch(folders, {
    depth: 0,
    ignoreInitial: true,
    ignored: (path) => !folders.includes(path) && !names.has(basename(path)),
  })
  watcher.on('all', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void look(), quiet)
  })
  watcher.on('error', failed)
  await once(watcher, 'ready')

  return async () => {
    isClosed = true
    clearTimeout(timer)
    await watcher.close()
  }
}

/** What the files hold, or why they cannot be read: a touch or a swap to the same content is no change. */
async function contentOf(files: readonly string[]): Promise<string> {
  const contents = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(reasonOf)))
  return contents.join('\0')
}
