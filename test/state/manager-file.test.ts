import { createFileBackend } from '../../src/state/file-backend.ts'
import { describeManager } from './manager.contract.ts'
import { temporaryDir } from './temporary.ts'

describeManager('files', async (t) => {
  const dir = temporaryDir(t)
  return () => createFileBackend({ dir })
})
