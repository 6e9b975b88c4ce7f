import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Store } from '../../../src/core/store.ts'
import { newest, saying } from '../../contract/store/kit.ts'
import { until } from '../../fixtures/until.ts'
import { redisOf } from './kit.ts'

/** Repeats the delivery until it is acknowledged, as a provider does. */
function accept(store: Store, text: string): Promise<unknown> {
  const once = () => store.journal.accept([saying(text, { key: text })]).catch(() => undefined)
  return until(once, `${text} to be accepted`)
}

describe('a Redis that crashes during a write, and then once more', () => {
  for (const isRestarted of [false, true]) {
    test(`keeps messages accepted between the crashes, with a ${isRestarted ? 'restarted' : 'running'} daemon`, async (t) => {
      const { server, open } = await redisOf(t)
      const stores = [await open()]
      const current = async () => {
        if (isRestarted) stores.push(await open())
        return stores.at(-1) ?? assert.fail()
      }
      for (const text of ['whole', 'torn']) await accept(await current(), text)
      await server.tear()
      await server.start()
      await accept(await current(), 'between')
      await server.rewritten()
      await server.kill()
      await server.start()
      await accept(await current(), 'after')
      const texts = (await newest(await current(), 10)).map(({ text }) => text)
      assert.deepEqual(texts.sort(), ['after', 'between', 'whole'])
    })
  }
})
