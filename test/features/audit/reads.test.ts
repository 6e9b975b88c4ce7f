import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pathGet } from '../../../src/core/json.ts'
import { VIEWER_SKILLS } from '../../../src/core/viewer-role.ts'
import { builtInSkills } from '../../../src/daemon/built-in-skills.ts'
import { createAuditMiddleware } from '../../../src/features/audit/middleware.ts'
import { openSite } from '../../fixtures/daemon.ts'

const ROUTES = `
gateways: { shop: { transport: webhook, path: /shop, verify: { scheme: none } } }
subscriptions: [{ name: crm, url: "http://127.0.0.1:9/crm", allow-private: true, secret: whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0 }]
routes: [{ name: all, skill: echo }]
`

test('no operation that only reads is in the audit log', () => {
  const layer = createAuditMiddleware({ record: async () => {}, placeOf: async () => undefined })
  const isAudited = (name: string) => {
    const skill = builtInSkills.find((each) => each.name === name)
    return skill !== undefined && layer.setup({}, skill, { isBuiltIn: true }) !== undefined
  }
  const reads = builtInSkills
    .filter(({ metadata }) => pathGet(metadata, 'annotations.readOnlyHint') === true)
    .map(({ name }) => name)
  assert.ok(reads.includes('subscription-waiting') && reads.length > 30, reads.join(' '))
  assert.deepEqual(reads.filter(isAudited), [])
  assert.deepEqual(VIEWER_SKILLS.filter(isAudited), [])
  assert.ok(isAudited('subscription-pause') && isAudited('approval-decide'))
})

test('a look at what a push will send leaves no entry, a change of it does', async () => {
  const daemon = await openSite({ routes: ROUTES }).start()
  const actions = async () =>
    Object(await daemon.invoke('audit-list', { action: 'subscription-*' }))
      .entries.map(Object)
      .map(({ action }: { action: string }) => action)
  await daemon.invoke('subscription-waiting', { name: 'crm' })
  await daemon.invoke('subscription-show', { name: 'crm' })
  await daemon.invoke('subscription-pause', { name: 'crm' })
  assert.deepEqual(await actions(), ['subscription-pause'])
})
