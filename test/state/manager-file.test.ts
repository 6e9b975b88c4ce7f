import { createFileBackend } from '../../src/state/documents/file-backend.ts'
import { memoryDir } from './kit.ts'
import { describeManager } from './manager.contract.ts'

describeManager('files', async (t) => {
  const dir = memoryDir(t)
  return () => createFileBackend({ dir })
})
