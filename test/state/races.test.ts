import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createStateManager } from '../../src/state/documents/manager.ts'
import { until } from '../fixtures/until.ts'
import { memoryDir, notes } from './kit.ts'

const script = fileURLToPath(import.meta.resolve('./race-writer.ts'))

function writer(
  dir: string,
  times: number,
): { child: ChildProcess; output: Promise<string>; ended: Promise<unknown> } {
  const child = spawn(process.execPath, [script, dir, String(times)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, output: text(child.stdout), ended: once(child, 'exit') }
}

async function countIn(dir: string): Promise<number> {
  const manager = createStateManager({ dir, documents: [notes] })
  const loaded = await manager.load('notes')
  assert.deepEqual(await manager.replay('notes', { revision: loaded.revision }), loaded)
  await manager.close()
  return Number(loaded.document.count)
}

describe('Run two agents against the same state file', () => {
  test('processes that write at once lose no increment', async (t) => {
    const [processes, times] = [8, 15]
    const dir = memoryDir(t)
    const writers = Array.from({ length: processes }, () => writer(dir, times))
    const outputs = await Promise.all(writers.map((one) => one.output))
    await Promise.all(writers.map((one) => one.ended))
    const acknowledged = outputs.flatMap((output) => output.trim().split('\n').map(Number))
    assert.deepEqual(
      acknowledged.sort((a, b) => a - b),
      Array.from({ length: processes * times }, (_, i) => i + 1),
    )
    assert.equal(await countIn(dir), processes * times)
  })

  test('killed at random, writers lose nothing that they acknowledged', async (t) => {
    const dir = memoryDir(t)
    let least = 0
    for (let round = 0; round < 8; round += 1) {
      const { child, output, ended } = writer(dir, 100_000)
      let written = 0
      child.stdout?.on('data', () => {
        written += 1
      })
      await until(() => written > 5 + round * 3, 'some writes', 20_000)
      child.kill('SIGKILL')
      await ended
      const lines = (await output).split('\n').slice(0, -1)
      least = Math.max(least, Number(lines.at(-1)))
      const count = await countIn(dir)
      assert.ok(count >= least && count <= least + 1, `${least} acknowledged, ${count} there`)
      least = count
    }
  })
})
