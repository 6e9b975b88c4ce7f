import assert from 'node:assert/strict'
import { DAY, MINUTE, part, readAllAfter, SECOND, type StoreFactory, until } from './kit.ts'

/** Keys and values, and leases. */
export function keyValueContract(factory: StoreFactory): void {
  part(factory, 'keys and values', {
    'a value comes back with the version that set returned': async (bench) => {
      const value = { a: [1, 'x', null], ['__proto__' as string]: true }
      const version = await bench.store.kv.set('k', value)
      assert.ok(version !== undefined && version > 0)
      assert.deepEqual(await bench.store.kv.get('k'), { value, version })
      assert.deepEqual(await (await bench.reopen()).kv.get('k'), { value, version })
    },
    'stores null, false, empty and large values': async ({ store }) => {
      for (const value of [null, false, 0, '', [], {}, 'x'.repeat(1_000_000), '\ud800']) {
        await store.kv.set('k', value)
        assert.deepEqual((await store.kv.get('k'))?.value, value)
      }
    },
    'a write that expects another version changes nothing': async ({ store }) => {
      const version = (await store.kv.set('k', 1)) ?? 0
      assert.equal(await store.kv.set('k', 2, { ifVersion: version + 1 }), undefined)
      assert.equal(await store.kv.set('k', 2, { ifVersion: 0 }), undefined)
      assert.deepEqual(await store.kv.get('k'), { value: 1, version })
      assert.ok(await store.kv.set('k', 2, { ifVersion: version }))
      assert.equal((await store.kv.get('k'))?.value, 2)
    },
    'a version is not reused after a delete': async ({ store }) => {
      const version = (await store.kv.set('k', 1)) ?? 0
      await store.kv.delete('k')
      await store.kv.set('k', 2)
      assert.equal(await store.kv.set('k', 3, { ifVersion: version }), undefined)
      assert.equal((await store.kv.get('k'))?.value, 2)
    },
    'one of several concurrent writers that expect the same version wins': async ({ store }) => {
      const ifVersion = (await store.kv.set('k', 0)) ?? 0
      const wins = await Promise.all(
        Array.from({ length: 10 }, (_, n) => store.kv.set('k', n, { ifVersion })),
      )
      assert.equal(wins.filter((version) => version !== undefined).length, 1)
    },
    'a key expires after its `ttl`, and a write without `ttl` makes it permanent': async ({
      store,
      advance,
    }) => {
      await store.kv.set('k', 1, { ttl: SECOND })
      await store.kv.set('stays', 1, { ttl: SECOND })
      await store.kv.set('stays', 2)
      advance(SECOND - 1)
      assert.equal((await store.kv.get('k'))?.value, 1)
      advance(1)
      assert.equal(await store.kv.get('k'), undefined)
      assert.equal(await store.kv.delete('k'), false)
      assert.deepEqual((await store.kv.list('', 10)).items, ['stays'])
      assert.ok(await store.kv.set('k', 2, { ifVersion: 0 }))
    },
    'lists the keys with a prefix, sorted, up to the limit': async ({ store }) => {
      const keys = ['a', 'a%', 'a*', 'a/1', 'a/2', 'a_', 'b', '__proto__', 'é']
      for (const key of keys) await store.kv.set(key, key)
      const list = async (prefix: string, limit: number) => (await store.kv.list(prefix, limit)).items
      assert.deepEqual(await list('a/', 10), ['a/1', 'a/2'])
      assert.deepEqual(await list('a', 3), ['a', 'a%', 'a*'])
      assert.deepEqual(await list('', 100), [...keys].sort())
      assert.deepEqual(await list('a_', 10), ['a_'])
      assert.deepEqual(await list('zz', 10), [])
      assert.equal((await store.kv.get('__proto__'))?.value, '__proto__')
    },
    'lists all keys page by page, and says when there are no more': async ({ store, advance }) => {
      const keys = ['a', 'a%', 'a/1', 'a/2', 'a_', 'aé']
      for (const key of ['Z', ...keys, 'b']) await store.kv.set(key, key)
      // An expired key among them takes no place in a page.
      await store.kv.set('a/0', 1, { ttl: SECOND })
      advance(SECOND)
      for (const limit of [1, 2, 5, keys.length, 100]) {
        const found = await readAllAfter<string>((last) => store.kv.list('a', limit, last))
        assert.deepEqual(found, keys, `in pages of ${limit}`)
      }
      assert.equal((await store.kv.list('a', keys.length - 1)).more, true)
      assert.equal((await store.kv.list('a', keys.length)).more, false)
      assert.deepEqual(await store.kv.list('a', 2, 'a_'), { items: ['aé'], more: false })
    },
    'writing and deleting a key signal it': async ({ store }) => {
      let signals = 0
      store.onSignal('kv:k', () => signals++)
      store.onSignal('kv:other', () => assert.fail('another key'))
      await store.kv.set('k', 1)
      await until(() => signals >= 1, 'the signal of the write')
      const before = signals
      await store.kv.delete('k')
      await until(() => signals > before, 'the signal of the delete')
    },
  })

  part(factory, 'leases', {
    'a lease from before the clock went back can be taken after its duration without a renewal': async ({
      store,
      advance,
    }) => {
      advance(DAY)
      const old = await store.leases.acquire('mailbox', 'a', 40)
      advance(-DAY)
      assert.equal(await store.leases.acquire('mailbox', 'b', 40), undefined)
      const taken = await until(() => store.leases.acquire('mailbox', 'b', 40), 'the lease')
      assert.ok(taken.token > (old?.token ?? 0))
      assert.ok(await store.leases.acquire('mailbox', 'b', MINUTE))
      for (let attempt = 0; attempt < 20; attempt++)
        assert.equal(await store.leases.acquire('mailbox', 'a', 1), undefined, 'b renewed it for a minute')
    },
    'a lease has one holder, and a renewal keeps the token': async ({ store }) => {
      const held = await store.leases.acquire('mailbox', 'a', MINUTE)
      assert.ok(held)
      assert.equal(await store.leases.acquire('mailbox', 'b', MINUTE), undefined)
      assert.deepEqual(await store.leases.acquire('mailbox', 'a', MINUTE), held)
      assert.ok(await store.leases.acquire('other', 'b', MINUTE))
    },
    'the token grows with every new holder, after an expiry or a release': async ({ store, advance }) => {
      const first = await store.leases.acquire('l', 'a', MINUTE)
      advance(MINUTE)
      const second = await store.leases.acquire('l', 'b', MINUTE)
      assert.ok(first && second && second.token > first.token)
      await store.leases.release('l', 'b')
      const third = await store.leases.acquire('l', 'a', MINUTE)
      assert.ok(third && third.token > second.token)
    },
    'only the holder can release': async ({ store }) => {
      await store.leases.acquire('l', 'a', MINUTE)
      await store.leases.release('l', 'b')
      await store.leases.release('none', 'b')
      assert.equal(await store.leases.acquire('l', 'b', MINUTE), undefined)
    },
  })

  part(factory, 'two stores over the same data', {
    'see the same values, leases and signals': async (bench) => {
      if (!bench.shared) return
      const other = await bench.second()
      let signals = 0
      other.onSignal('kv:k', () => signals++)
      await bench.store.kv.set('k', 1)
      assert.equal((await other.kv.get('k'))?.value, 1)
      await until(() => signals > 0, 'a signal from the other store')
      assert.ok(await bench.store.leases.acquire('l', 'a', MINUTE))
      assert.equal(await other.leases.acquire('l', 'b', MINUTE), undefined)
    },
  })
}
