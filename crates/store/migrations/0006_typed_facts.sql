-- Why and what, as data: the columns of text beside these hold the sentences that are made from it. NULL in older rows,
-- and where the sentence is all there is.
ALTER TABLE warnings ADD COLUMN warning_json TEXT;
ALTER TABLE trials ADD COLUMN reason_json TEXT;
ALTER TABLE step_exits ADD COLUMN reason_json TEXT;
