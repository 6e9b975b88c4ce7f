import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Log } from '../../src/core/log.ts'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { storeContract } from './store.contract.ts'

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet }

storeContract('embedded', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'trivium-embedded-'))
  return {
    shared: false,
    open: (options) => createEmbeddedStore({ dir, log: quiet, ...options }),
    dispose: () => rm(dir, { recursive: true, force: true }),
  }
})
