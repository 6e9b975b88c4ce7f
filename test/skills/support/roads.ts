import type { TestContext } from 'node:test'
import type { Skill } from '../../../src/core/skill.ts'
import type { Store } from '../../../src/core/store.ts'
import { createEvents } from '../../../src/gateway/events.ts'
import { createReceive } from '../../../src/gateway/receive.ts'
import { createFolder } from './folder.ts'
import { type Runtime, SHIPPED, startRuntime } from './runtime.ts'
import type { StoreKind } from './store.ts'

/** The skill runtime on the real events and receive roads of a store. `bring` accepts a message and gives its id. */
export type RuntimeOnRoads = Runtime & { store: Store; bring(text: string): Promise<string> }

/** `files` are sources of code skills by name, loaded from a folder; they find `bring` on `ctx.globals`. */
export async function startOnRoads(
  t: TestContext,
  kind: StoreKind,
  options: { files?: Record<string, string>; skills?: Skill[] } = {},
): Promise<RuntimeOnRoads> {
  const store = await kind.open(t, await kind.place(t))
  const bring = async (text: string) => {
    const from = { id: 'alice' }
    const message = { gateway: 'chat', transport: 'websocket', conversation: 'c1', from, text, data: {} }
    const [accepted] = await store.journal.accept([message])
    if (!accepted) throw new Error('the message was not accepted')
    return accepted.id
  }
  const files = Object.entries(options.files ?? {}).map(([name, source]) => [`${name}/index.ts`, source])
  const folder = await createFolder(t, Object.fromEntries(files))
  const runtime: Runtime = await startRuntime(t, {
    store,
    skills: options.skills ?? [],
    services: {
      events: createEvents(store, Date.now, (skill, call) => runtime.manager.permit(skill, call)),
      receive: createReceive({ store, taken() {}, known: () => ['chat'] }),
    },
    manager: { folders: [folder, SHIPPED] },
  })
  Object.assign(runtime.services.globals, { bring })
  return { ...runtime, store, bring }
}
