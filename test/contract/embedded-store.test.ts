import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { fastDir } from '../fixtures/folder.ts'
import { quiet } from './store/kit.ts'
import { storeContract } from './store.contract.ts'

storeContract('embedded', async () => {
  const dir = await mkdtemp(join(fastDir, 'trivium-embedded-'))
  return {
    shared: false,
    open: (options) => createEmbeddedStore({ dir, log: quiet, ...options }),
    dispose: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  }
})
