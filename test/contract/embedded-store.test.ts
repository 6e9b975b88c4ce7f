import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createEmbeddedStore } from '../../src/stores/embedded/index.ts'
import { fastDir } from '../fixtures/folder.ts'
import { silent } from './store/kit.ts'
import { storeContract } from './store.contract.ts'

storeContract('embedded', async () => {
  const dir = await mkdtemp(join(fastDir, 'trivium-embedded-'))
  return {
    shared: false,
    open: (options) => createEmbeddedStore({ dir, log: silent, ...options }),
    dispose: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  }
})
