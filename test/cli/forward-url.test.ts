import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { forwardUrl } from '../../src/cli/listen/forward.ts'

describe('the URL of listen --forward', () => {
  for (const [text, url] of [
    ['3000', 'http://localhost:3000/'],
    ['19000/hook', 'http://localhost:19000/hook'],
    ['localhost:3000/hook', 'http://localhost:3000/hook'],
    ['127.0.0.1:3000', 'http://127.0.0.1:3000/'],
    ['https://example.com/x', 'https://example.com/x'],
  ] as const) {
    test(`is ${url} for ${text}`, () => assert.equal(forwardUrl(text).href, url))
  }

  // `new URL` reads a number as the IPv4 address of a host.
  for (const text of ['http://19000/hook', '19000:80', '0x7f000001', '190000/hook', 'ftp://x', 'a b']) {
    test(`is refused for ${text}`, () => assert.throws(() => forwardUrl(text), { code: 'usage' }))
  }
})
