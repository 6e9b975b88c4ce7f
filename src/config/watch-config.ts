import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { watch } from 'chokidar'
import { reasonOf, type TriviumError, toTriviumError } from '../core/errors.ts'
import { type Config, type LoadOptions, loadConfig } from './load-config.ts'

export type ConfigWatcher = Awaited<ReturnType<typeof watchConfig>>

export type WatchOptions = {
  initial: Config
  /** Asked anew for each reload, since the skills may be others by then. */
  load(): Omit<LoadOptions, 'path'>
  /** Called with each new good configuration; awaited before the next reload. */
  onChange(config: Config): void | Promise<void>
  /** Called with why a reload changed nothing: `config_invalid`, or what `onChange` threw. */
  onError(error: TriviumError): void
  /** Milliseconds of quiet before a change is read; editors write in several steps. */
  debounce?: number
}

/** What Kubernetes swaps when a mounted ConfigMap changes; the file itself is a link through it. */
const CONFIG_MAP_LINK = '..data'

/**
 * Watches the configuration file and `.env`, and reloads what changed. It watches folders, so files that
 * editors replace, remove for a moment, or link elsewhere are seen. Resolves when it watches.
 */
export async function watchConfig(options: WatchOptions) {
  const { initial, onChange, onError, debounce = 100 } = options
  const files = [initial.file, join(options.load().cwd, '.env')]
  const folders = [...new Set(files.map((file) => dirname(file)))]
  const names = new Set([...files.map((file) => basename(file)), CONFIG_MAP_LINK])
  let config = initial
  let seen = await contentOf(files)
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let queue = Promise.resolve(initial)

  const reload = async (): Promise<Config> => {
    if (closed) return config
    seen = await contentOf(files)
    try {
      const next = await loadConfig({ ...options.load(), path: initial.file })
      await onChange(next)
      config = next
    } catch (error) {
      onError(toTriviumError(error))
    }
    return config
  }

  const reloadIfChanged = async () => ((await contentOf(files)) === seen ? config : reload())

  /** One at a time, in order. */
  const enqueue = (task: () => Promise<Config>): Promise<Config> => {
    queue = queue.then(task)
    return queue
  }

  const watcher = watch(folders, {
    depth: 0,
    ignoreInitial: true,
    ignored: (path) => !folders.includes(path) && !names.has(basename(path)),
  })
  watcher.on('all', () => {
    clearTimeout(timer)
    timer = setTimeout(() => void enqueue(reloadIfChanged), debounce)
  })
  watcher.on('error', (error) => onError(toTriviumError(error)))
  await once(watcher, 'ready')

  return {
    /** The last good configuration. */
    current: () => config,
    /**
     * Reads again, changed or not (SIGHUP, new skills). Resolves with the configuration in force afterwards: the
     * last good one where the file is bad, after `onError` told why.
     */
    reload: () => enqueue(reload),
    async close() {
      closed = true
      clearTimeout(timer)
      await watcher.close()
      await queue
    },
  }
}

/** What the files hold, or why they cannot be read: a touch or a swap to the same content reloads nothing. */
async function contentOf(files: readonly string[]): Promise<string> {
  const contents = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(reasonOf)))
  return contents.join('\0')
}
