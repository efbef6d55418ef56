-- Which call an entry of the timeline shows, and which rows its text is made from. The metadata is for people only.
ALTER TABLE timeline ADD COLUMN call_id TEXT;
ALTER TABLE timeline ADD COLUMN tool TEXT;
-- What the call does to the world, where that is known: resolve, read or write.
ALTER TABLE timeline ADD COLUMN call_kind TEXT;
ALTER TABLE timeline ADD COLUMN permit TEXT;
ALTER TABLE timeline ADD COLUMN hold TEXT;
-- The rule that refused it, and the code.
ALTER TABLE timeline ADD COLUMN rule TEXT;
ALTER TABLE timeline ADD COLUMN code TEXT;

UPDATE timeline SET
    call_id   = json_extract(metadata, '$.call'),
    tool      = json_extract(metadata, '$.tool'),
    call_kind = json_extract(metadata, '$.kind'),
    permit    = json_extract(metadata, '$.permit'),
    hold      = json_extract(metadata, '$.hold'),
    rule      = json_extract(metadata, '$.rule'),
    code      = json_extract(metadata, '$.code')
WHERE kind = 'llm_tool_call'
    AND json_extract(metadata, '$.call') IS NOT NULL
    AND json_extract(metadata, '$.tool') IS NOT NULL;
