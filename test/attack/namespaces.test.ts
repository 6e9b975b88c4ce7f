import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Caller } from '../../src/core/call.ts'
import { compileMember, identityOf } from '../../src/core/identity.ts'
import { viewerOf } from '../../src/core/viewer.ts'
import { openSite } from '../fixtures/daemon.ts'

/** The view of a caller on the assistant's data of their team. */
const teamOf = (caller: Caller) => viewerOf({ caller, rootId: 'root' }, 'team')

describe('the namespaces of identities', () => {
  test('do not allow gateways with the names of other namespaces', async () => {
    for (const name of ['token', 'role', 'oidc', 'control-token']) {
      const site = openSite({ routes: `gateways:\n  ${name}: { transport: cli }\n` })
      const { code, out, err } = await site.run(['route', 'check'])
      assert.equal(code, 2, name)
      assert.match(out + err, new RegExp(`cannot be named "${name}"`))
    }
  })

  test('do not allow an id that looks like a person of another workspace', () => {
    const from = { id: 'external:U1', verified: true }
    assert.equal(identityOf({ gateway: 'chat', from }), undefined)
    const partner = identityOf({ gateway: 'team', from: { id: 'U1', verified: true, external: true } })
    assert.equal(compileMember('*:external:U1')({ kind: 'route', id: String(partner) }), true)
  })

  test('separate operators, people and programs, also with the scope `team`', () => {
    const operator = teamOf({ kind: 'http' })
    assert.equal(teamOf({ kind: 'route', id: 'http:ada' }).sees(operator.owner), false)
    assert.equal(teamOf({ kind: 'route', id: 'chat:ada' }).sees('chat:bob'), true)
    const program = teamOf({ kind: 'http', id: 'token:a', skills: ['*'] })
    assert.equal(program.sees('token:b'), false)
    assert.equal(program.sees('token:a'), true)
  })
})
