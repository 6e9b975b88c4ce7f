import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { openDatabase } from '../../../src/stores/embedded/database.ts'
import { createSignals } from '../../../src/stores/embedded/signals.ts'
import { createWriter } from '../../../src/stores/embedded/writer.ts'
import { quiet } from '../../contract/store/kit.ts'
import { withDir } from './kit.ts'

/** Flushes that end when the test says so: how long a disk takes cannot be provoked otherwise. */
function heldFlush() {
  const flushes: { end(): void; fail(error: Error): void }[] = []
  const flush = () => new Promise<void>((resolve, reject) => flushes.push({ end: resolve, fail: reject }))
  return { flush, flushes }
}

function open(t: TestContext, dir: string) {
  const db = openDatabase(dir)
  t.after(() => db.close())
  const held = heldFlush()
  const writer = createWriter(db, 'test', held.flush)
  const insert = db.prepare('INSERT INTO gateway (name) VALUES (?)')
  const settled: string[] = []
  const add = (name: string, write = writer.write) =>
    write(() => insert.run(name)).then(
      () => settled.push(name),
      (error) => settled.push(`${name}: ${error.code}`),
    )
  return { ...held, db, writer, settled, add }
}

/** What was asked for in this turn is committed after it, and what was settled is seen. */
async function turns(): Promise<void> {
  for (let each = 0; each < 3; each++) await turn()
}

describe('the flush of the log', () => {
  test('holds back the answers and the signals of what it covers, and no others', async (t) => {
    await withDir(async (dir) => {
      const { writer, flushes, settled, add } = open(t, dir)
      const signals = createSignals(writer, quiet)
      signals.on('journal', () => settled.push('signal'))
      add('a')
      writer.write(() => signals.raise('journal'))
      await turns()
      assert.deepEqual(settled, [])
      add('repeatable', writer.writeRepeatable)
      await turns()
      assert.deepEqual(settled, ['repeatable'])
      flushes[0]?.end()
      await turns()
      assert.deepEqual(settled.sort(), ['a', 'repeatable', 'signal'])
      assert.equal(flushes.length, 1)
    })
  })

  test('gathers what comes while it runs into one transaction with one flush', async (t) => {
    await withDir(async (dir) => {
      const { writer, flushes, settled, add } = open(t, dir)
      let commits = 0
      writer.follow({ committed: () => commits++ })
      add('a')
      await turns()
      for (const name of ['b', 'c']) {
        add(name)
        await turns()
      }
      assert.equal(commits, 1)
      flushes[0]?.end()
      await turns()
      assert.deepEqual([commits, flushes.length, settled], [2, 2, ['a']])
      flushes[1]?.end()
      await turns()
      assert.deepEqual(settled, ['a', 'b', 'c'])
    })
  })

  test('that fails refuses what it covered and all that follows', async (t) => {
    await withDir(async (dir) => {
      const { writer, flushes, settled, add } = open(t, dir)
      add('a')
      await turns()
      add('b')
      flushes[0]?.fail(new Error('EIO: i/o error, fdatasync'))
      await turns()
      assert.deepEqual(settled, ['a: store_unavailable', 'b: store_unavailable'])
      await add('c')
      assert.deepEqual(settled.at(-1), 'c: store_unavailable')
      assert.throws(writer.check, {
        code: 'store_unavailable',
        message: /the disk did not take what was written \(EIO.*restart/,
      })
      writer.close()
      assert.equal(flushes.length, 1)
    })
  })

  test('is waited for by closing, and answers all that was asked for', async (t) => {
    await withDir(async (dir) => {
      const { writer, flushes, settled, add } = open(t, dir)
      add('flushing')
      await turns()
      add('waiting')
      const closed = writer.close().then(() => settled.push('closed'))
      await turns()
      assert.deepEqual(settled, [])
      flushes[0]?.end()
      await turns()
      assert.deepEqual(settled, ['flushing'])
      flushes[1]?.end()
      await closed
      assert.deepEqual(settled, ['flushing', 'waiting', 'closed'])
    })
  })
})
