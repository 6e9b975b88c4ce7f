import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Bench, type Line, type Row, type StoreName, storesWithOneRedis } from '../lib/bench.ts'
import { createProject, fillStore } from '../lib/daemon.ts'
import { redisInfo } from '../lib/redis-info.ts'
import { spreadOf } from '../lib/statistics.ts'

/** The bytes that a message of 1 KB on three roads needs: on disk, or in the memory of Redis. */
export const storeSize: Row = {
  name: 'store-size',
  title: 'bytes of store per 1 KB message',
  async run(bench) {
    const lines: Line[] = []
    for (const store of storesWithOneRedis(bench)) {
      bench.progress(store)
      lines.push({
        row: 'store-size',
        store,
        figure: store === 'embedded' ? 'file bytes a message' : 'memory bytes a message',
        unit: 'B',
        value: spreadOf([await measure(bench, store, bench.quick ? 20_000 : 200_000)]),
        target: { most: 1.6 * 1024 },
      })
    }
    return lines
  },
}

async function measure(bench: Bench, store: StoreName, count: number): Promise<number> {
  const redis = await bench.redis(store)
  const dir = createProject(bench, { routes: '' })
  const usedMemory = async (url: string) => (await redisInfo(url))('used_memory')
  const before = redis === undefined ? 0 : await usedMemory(redis)
  await fillStore(dir, redis, count)
  if (redis !== undefined) return ((await usedMemory(redis)) - before) / count
  const files = globSync('trivium.db*', { cwd: dir })
  return files.reduce((sum, file) => sum + statSync(join(dir, file)).size, 0) / count
}
