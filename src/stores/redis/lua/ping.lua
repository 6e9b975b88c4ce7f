-- A round trip that writes nothing.
return 1
