import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestHeaders } from '../../src/core/request-headers.ts'

test('headers of the target, the connection and the framing are refused with their place', () => {
  const names = 'Host connection Proxy-Connection TE trailer Transfer-Encoding upgrade content-length'.split(
    ' ',
  )
  for (const name of names) {
    const { error } = requestHeaders.safeParse({ 'X-Tenant': 'a', [name]: 'x' })
    assert.deepEqual(
      error?.issues.map(({ path, message }) => [path, message]),
      [[[name], 'this header cannot be set']],
    )
  }
  assert.deepEqual(requestHeaders.parse({ Authorization: 'Bearer x\n' }), { Authorization: 'Bearer x' })
})
